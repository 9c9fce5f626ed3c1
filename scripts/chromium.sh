#!/usr/bin/env bash
# Prints the path of a Chromium, which the tests of pages drive, and installs one where nobody must be asked.
# With a command as arguments, runs that command with CHROMIUM set to it instead. Where there is none, it says so and
# the command runs all the same: pytest then skips these tests and tells why.
# DRY_RUN=1 only says what would be installed.
set -euo pipefail
. "$(dirname "$0")/system.sh"

find_chromium() {
    local candidate
    for candidate in \
        "${CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable \
        "/Applications/Chromium.app/Contents/MacOS/Chromium" \
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
        # Runs it, because Ubuntu has a chromium that only stands for a package that is not there.
        if [ -n "$candidate" ] && "$candidate" --version >/dev/null 2>&1; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

install_chromium() {
    say "The tests of pages need Chromium, and there is none: trying to install it"
    if [ "$(uname)" = Darwin ] && command -v brew >/dev/null; then
        run brew install --cask chromium
    else
        apt_install chromium || return 1
        # Pages can be tested without it, but not looked at.
        apt_install fonts-dejavu-core || say "Without any font a page has no text, and none could be installed"
    fi
}

chromium=$(find_chromium) || {
    install_chromium || say "It could not be installed from here. The tests of pages are skipped; to run them:" \
        "sudo apt-get install chromium fonts-dejavu-core, or point CHROMIUM at one"
    chromium=$(find_chromium) || chromium=
}

if [ $# -eq 0 ]; then
    echo "$chromium"
else
    export CHROMIUM=$chromium
    exec "$@"
fi
