#!/usr/bin/env bash
# Writes requirements.txt: the newest versions that pyproject.toml allows, with all they depend on.
# It resolves for the running Python; the oldest one we support decides, so PYTHON is python3.11 unless told.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"${PYTHON:-python3.11}" -m venv "$work/venv"
pip() { "$work/venv/bin/python" -m pip --disable-pip-version-check "$@"; }

say "Resolving the newest versions"
pip install --quiet --upgrade 'pip>=25.1'  # the first that knows dependency groups
pip install --quiet --group dev --editable '.[all]'
pip check >&2
{
    echo "# Everything .venv holds, by exact version; made by \`make pins\`, never by hand."
    pip freeze --all --exclude groupsim --exclude pip
} >"$work/requirements.txt"
mv "$work/requirements.txt" requirements.txt
say "Wrote requirements.txt; now run: make test"
