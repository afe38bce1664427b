#!/usr/bin/env bash
# Installs missing parts into the checkout: the virtual environment with all pinned packages (Node
# among them) and the CDK command line. Does nothing if nothing has changed since the last run.
# `setup.sh python` only ensures that there is a Python that can create virtual environments.
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python3}
STAMP=.venv/.installed
LOGS=build/setup
LINES_SHOWN=15
export PIP_DISABLE_PIP_VERSION_CHECK=1

main() {
    local wanted
    require_python
    wanted=$(fingerprint)
    if [[ -f $STAMP && $(<"$STAMP") == "$wanted" && -x node_modules/.bin/cdk ]]; then
        return
    fi
    require_venv
    if [[ ${1:-} == python ]]; then
        return
    fi
    mkdir -p "$LOGS"
    rm -f "$STAMP"
    step packages "Python packages installed" \
        "check that this machine reaches the Python package index, and repeat"
    step compile "Python packages compiled" "rm -rf .venv, and repeat"
    step command_line "CDK command line installed" \
        "check that this machine reaches the npm registry, and repeat"
    echo "$wanted" >"$STAMP"
}

# Runs a function with its output in a log, and prints how long it took or how it failed.
step() {
    local function=$1 title=$2 fix=$3 log=$LOGS/$1.log started=$SECONDS
    if "$function" >"$log" 2>&1 </dev/null; then
        printf '✓ %s %d s\n' "$title" $((SECONDS - started)) >&2
        return
    fi
    printf '✗ %s: failed; %s ends with:\n' "$title" "$log" >&2
    tail -n "$LINES_SHOWN" "$log" >&2
    stop "the installation is incomplete" "$fix"
}

packages() {
    create_virtual_environment && { with_uv || with_pip; }
}

# uv needs a twelfth of pip's processor time.
with_uv() {
    .venv/bin/python -m pip install --quiet "$(grep '^uv==' requirements-dev.txt)" &&
        .venv/bin/python -m tools.uv pip install --requirement requirements-dev.txt &&
        .venv/bin/python -m tools.uv pip install --no-deps --editable .
}

# uv is not built for some platforms, and only pip can log in to some indexes.
with_pip() {
    echo "setup: uv cannot install the packages ($LOGS/packages.log): pip does, in a minute or two" >&3
    .venv/bin/python -m pip install --quiet --requirement requirements-dev.txt &&
        .venv/bin/python -m pip install --quiet --no-deps --editable .
}

# Without bytecode start-up is slow. Compiling rarely imported modules would take longer than it saves.
compile() {
    local imported packages
    imported=$(grep -rhoE --include='*.py' 'aws_[a-z0-9_]+' stacks | sort -u | paste -sd '|' -)
    packages=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    .venv/bin/python -m compileall -q -x "/aws_cdk/(?!($imported)/)(aws|alexa)_" \
        embedded_aws slurmpod stacks \
        "$packages"/{aws_cdk,boto3,botocore,cryptography,flask,jinja2,moto,pydantic,rich,werkzeug,yaml}
}

command_line() {
    PATH="$PWD/.venv/bin:$PATH" npm ci --no-audit --no-fund --no-update-notifier --loglevel=error
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

# The inputs that determine the contents of .venv and node_modules.
fingerprint() {
    cat requirements-dev.txt pyproject.toml package-lock.json scripts/setup.sh tools/uv.py \
        <("$PYTHON" --version) <(pwd) |
        sha256sum | cut -d' ' -f1
}

create_virtual_environment() {
    if [[ -f .venv/.made-at && $(<.venv/.made-at) == "$PWD" ]] &&
        .venv/bin/python -c 'import pip'; then
        return
    fi
    rm -rf .venv &&
        "$PYTHON" -m venv .venv &&
        pwd >.venv/.made-at # its scripts contain this path: a moved one is created again
}

# Debian and Ubuntu have the module for virtual environments in a separate package.
require_venv() {
    local package
    if "$PYTHON" -c 'import ensurepip' 2>/dev/null; then
        return
    fi
    package=$("$PYTHON" -c 'import sys; print(f"python3.{sys.version_info.minor}-venv")')
    if [[ $EUID -ne 0 ]] || ! command -v apt-get >/dev/null; then
        stop "Python's venv module is missing" "sudo apt-get install $package"
    fi
    echo "setup: installing the Debian package $package" >&2
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install --yes -qq "$package" >/dev/null
}

stop() {
    printf 'setup: %s\n  fix: %s\n' "$1" "$2" >&2
    exit 4
}

trap 'exit 130' INT # even if the interrupted command fails: pip must not run after uv then
exec 3>&2
main "$@"
