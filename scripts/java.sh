#!/usr/bin/env bash
# Prints the home of a Java 17 or newer, which Spark needs, and installs one where nobody must be asked.
# With a command as arguments, runs that command under this Java instead.
# DRY_RUN=1 only says what would be installed.
set -euo pipefail
. "$(dirname "$0")/system.sh"

readonly OLDEST=17

# Prints the home of the given java program if it is recent enough.
# Asks the program itself: macOS has a /usr/bin/java that stands for none.
home_of() {
    local settings version
    settings=$("$1" -XshowSettings:properties -version 2>&1) || return 1
    version=$(sed -n 's/^ *java\.specification\.version = //p' <<<"$settings")
    [ "${version%%.*}" -ge $OLDEST ] 2>/dev/null || return 1
    sed -n 's/^ *java\.home = //p' <<<"$settings"
}

# The usual places, the versions that Spark is tested with before any other.
usual_javas() {
    local version
    for version in 17 21 ''; do
        ls -d \
            /usr/lib/jvm/*"$version"*/bin/java \
            /opt/java/*"$version"*/bin/java \
            /opt/homebrew/opt/openjdk*"$version"/bin/java \
            /usr/local/opt/openjdk*"$version"/bin/java \
            /Library/Java/JavaVirtualMachines/*"$version"*/Contents/Home/bin/java \
            "$HOME"/.sdkman/candidates/java/*"$version"*/bin/java \
            2>/dev/null || true
    done
}

find_java() {
    if [ -n "${JAVA_HOME:-}" ] && home_of "$JAVA_HOME/bin/java"; then return; fi
    if home_of java; then return; fi
    local java
    while IFS= read -r java; do
        if home_of "$java"; then return; fi
    done < <(usual_javas)
    return 1
}

install_java() {
    say "Spark needs Java $OLDEST or newer, and there is none: installing it"
    if [ "$(uname)" = Darwin ] && command -v brew >/dev/null; then
        run brew install openjdk@17
    else
        # Debian 13 has dropped 17 for 21.
        apt_install openjdk-17-jre-headless openjdk-21-jre-headless
    fi
}

home=$(find_java) || {
    install_java || give_up \
        "It could not be installed from here. Install it by hand, or point JAVA_HOME at one:" \
        "  Debian, Ubuntu: sudo apt-get install openjdk-17-jre-headless  (Debian 13: openjdk-21-...)" \
        "  Fedora:         sudo dnf install java-21-openjdk-headless" \
        "  macOS:          brew install openjdk@17"
    [ -z "$DRY_RUN" ] || exit 0
    home=$(find_java) || give_up "Java was installed, but is not in any usual place: set JAVA_HOME."
}

if [ $# -eq 0 ]; then
    echo "$home"
else
    export JAVA_HOME=$home
    exec "$@"
fi
