#!/usr/bin/env bash
# Runs a program from a separate virtual environment, such as `run_apart.sh checkov --version`:
# the packages pinned in requirements-PROGRAM.txt conflict with ours, or are large and
# rarely needed. Creates the environment if it is missing or the pins have changed.
set -euo pipefail
PROJECT=$(cd "$(dirname "$0")/.." && pwd)

PYTHON=${PYTHON:-python3}
PROGRAM=$1
REQUIREMENTS=$PROJECT/requirements-$PROGRAM.txt
FOLDER=$PROJECT/.venv-$PROGRAM
STAMP=$FOLDER/.installed

main() {
    local wanted
    wanted=$(cat "$REQUIREMENTS" <("$PYTHON" --version) <(echo "$PROJECT") | sha256sum)
    if [[ ! -f $STAMP || $(<"$STAMP") != "$wanted" ]]; then
        install
        echo "$wanted" >"$STAMP"
    fi
    exec "$FOLDER/bin/$PROGRAM" "$@"
}

install() {
    echo "$PROGRAM: installing its pinned packages into ${FOLDER##*/} (once)" >&2
    rm -rf "$FOLDER"
    "$PYTHON" -m venv "$FOLDER"
    with_uv >&2 || "$FOLDER/bin/python" -m pip install -qq --disable-pip-version-check \
        --requirement "$REQUIREMENTS" >&2
}

with_uv() (
    cd "$PROJECT" && .venv/bin/python -m tools.uv pip install --quiet \
        --python "$FOLDER/bin/python" --requirement "$REQUIREMENTS"
)

main "${@:2}"
