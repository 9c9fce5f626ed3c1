# Words and package managers shared by the other scripts; sourced, never run.

say() {
    # Talk goes to stderr, so that a script's stdout holds only its answer.
    echo "== $*" >&2
}

give_up() {
    printf '%s\n' "$@" >&2
    exit 1
}

DRY_RUN=${DRY_RUN:-}

run() {
    if [ -n "$DRY_RUN" ]; then
        say "would run: $*"
    else
        "$@" >&2
    fi
}

# Prints how to become root without being asked for a password: nothing for root itself.
# Fails where there is no such way.
as_root() {
    [ "$(id -u)" -eq 0 ] && return
    sudo -n true 2>/dev/null && echo "sudo -n"
}

# Installs the first of the given Debian packages that this release has.
apt_install() {
    local root package
    command -v apt-get >/dev/null && root=$(as_root) || return 1
    run $root apt-get update || return 1
    for package in "$@"; do
        if [ -n "$(apt-cache madison "$package" 2>/dev/null)" ]; then
            run $root env DEBIAN_FRONTEND=noninteractive \
                apt-get install --yes --no-install-recommends "$package"
            return
        fi
    done
    return 1
}
