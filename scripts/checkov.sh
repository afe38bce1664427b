#!/usr/bin/env bash
# Runs checkov with the arguments given, from a virtual environment of its own: its pinned packages
# and ours do not fit together. Makes that environment when it is missing or the pins have changed.
set -euo pipefail
PROJECT=$(cd "$(dirname "$0")/.." && pwd)

PYTHON=${PYTHON:-python3}
FOLDER=$PROJECT/.venv-checkov
STAMP=$FOLDER/.installed

main() {
    local wanted
    wanted=$(cat "$PROJECT/requirements-checkov.txt" <("$PYTHON" --version) <(echo "$PROJECT") | sha256sum)
    if [[ ! -f $STAMP || $(<"$STAMP") != "$wanted" ]]; then
        install
        echo "$wanted" >"$STAMP"
    fi
    exec "$FOLDER/bin/checkov" "$@"
}

install() {
    echo "checkov: installing its pinned packages into .venv-checkov (a minute, once)" >&2
    rm -rf "$FOLDER"
    "$PYTHON" -m venv "$FOLDER"
    "$FOLDER/bin/python" -m pip install -qq --disable-pip-version-check \
        --requirement "$PROJECT/requirements-checkov.txt" >&2
}

main "$@"
