#!/usr/bin/env bash
# Builds .venv from requirements.txt, with the project in it as an editable install.
# The stamp is written last: without it a .venv is half made, and is made again from nothing.
# PYTHON=/path/to/python chooses the interpreter; otherwise the newest known one is taken.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh

readonly STAMP=.venv/.complete

is_recent_enough() {
    # Runs it, because a shim on PATH may stand for a Python that is not there.
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    local candidate candidates=(python3.13 python3.12 python3.11 python3)
    if [ -n "${PYTHON:-}" ]; then candidates=("$PYTHON"); fi
    for candidate in "${candidates[@]}"; do
        if is_recent_enough "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    give_up "groupsim needs Python 3.11 or newer, and found none${PYTHON:+ at $PYTHON}." \
        "Debian: apt-get install python3 python3-venv    macOS: brew install python@3.13" \
        "A Python elsewhere can be named: make setup PYTHON=/path/to/python3"
}

provide_venv_module() {
    # Debian parts the venv module's ensurepip from Python itself.
    "$1" -c 'import ensurepip, venv' >/dev/null 2>&1 && return
    local package
    package=$("$1" -c 'import sys; print("python{}.{}-venv".format(*sys.version_info))')
    say "$1 cannot make virtual environments: installing $package"
    apt_install "$package" || give_up "Install it by hand: sudo apt-get install $package"
}

make_venv() {
    local python
    python=$(find_python)
    provide_venv_module "$python"
    say "Making .venv with $("$python" --version)"
    rm -rf .venv
    "$python" -m venv .venv
}

install() {
    .venv/bin/python -m pip install --disable-pip-version-check --no-build-isolation "$@"
}

if [ ! -f $STAMP ] || ! is_recent_enough .venv/bin/python; then
    make_venv
fi
rm -f $STAMP
say "Installing the pinned dependencies (Spark alone is some 450 MB; later runs skip this)"
# Builds use these pinned tools and fetch none of their own, hence they come first.
install $(grep -E '^(setuptools|wheel)==' requirements.txt)
install -r requirements.txt
install --no-deps --quiet --editable .
touch $STAMP
say "Set up: .venv is complete"
