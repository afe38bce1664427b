#!/usr/bin/env bash
# Installs what is missing into the checkout: the virtual environment with all pinned packages (Node
# among them) and the CDK command line. Does nothing when nothing has changed since the last run.
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python3}
STAMP=.venv/.installed

main() {
    require_python
    local wanted
    wanted=$(fingerprint)
    if [[ -f $STAMP && $(<"$STAMP") == "$wanted" && -x node_modules/.bin/cdk ]]; then
        return
    fi
    create_virtual_environment
    echo "setup: installing the pinned Python packages into .venv (about a minute the first time)"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check \
        --requirement requirements-dev.txt
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
    .venv/bin/python -m compileall -q embedded_aws slurmpod stacks # where Python may not write, start-up is slow
    echo "setup: installing the CDK command line into node_modules"
    PATH="$PWD/.venv/bin:$PATH" npm ci --no-audit --no-fund --no-update-notifier --loglevel=error
    echo "$wanted" >"$STAMP"
}

require_python() {
    if ! command -v "$PYTHON" >/dev/null; then
        stop "there is no '$PYTHON' on this machine" "apt-get install python3 python3-venv"
    fi
    if ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        stop "$("$PYTHON" --version) is too old: 3.11 or newer is needed" \
            "install a newer Python and run: make PYTHON=python3.11 setup"
    fi
}

# What decides about the content of .venv and node_modules.
fingerprint() {
    cat requirements-dev.txt pyproject.toml package-lock.json scripts/setup.sh \
        <("$PYTHON" --version) <(pwd) |
        sha256sum | cut -d' ' -f1
}

create_virtual_environment() {
    if [[ -f .venv/.made-at && $(<.venv/.made-at) == "$PWD" ]] &&
        .venv/bin/python -c 'import pip' 2>/dev/null; then
        return
    fi
    rm -rf .venv
    if ! "$PYTHON" -c 'import ensurepip' 2>/dev/null; then
        install_venv_package
    fi
    echo "setup: creating the virtual environment .venv"
    "$PYTHON" -m venv .venv
    pwd >.venv/.made-at # its scripts name this folder: moved elsewhere, it is made again
}

# Debian and Ubuntu leave the module that makes virtual environments to a package of its own.
install_venv_package() {
    local package
    package=$("$PYTHON" -c 'import sys; print(f"python3.{sys.version_info.minor}-venv")')
    if [[ $EUID -ne 0 ]] || ! command -v apt-get >/dev/null; then
        stop "Python's venv module is missing" "sudo apt-get install $package"
    fi
    echo "setup: installing the Debian package $package"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install --yes -qq "$package" >/dev/null
}

stop() {
    printf 'setup: %s\n  fix: %s\n' "$1" "$2" >&2
    exit 4
}

main
