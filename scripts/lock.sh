#!/usr/bin/env bash
# Pins all dependencies of pyproject.toml, including indirect ones, for every platform.
set -euo pipefail
cd "$(dirname "$0")/.."

uv() {
    python -m tools.uv "$@"
}

compile() {
    uv pip compile pyproject.toml --quiet --upgrade --universal --python-version 3.11 \
        --no-header --no-annotate --no-emit-index-url --no-emit-find-links "$@"
}

compile --extra rehearsal --output-file requirements.txt
compile --extra rehearsal --extra dev --constraint requirements.txt --output-file requirements-dev.txt
for program in checkov zensical; do # each has its own virtual environment
    echo "$program" | uv pip compile --quiet --upgrade --universal --python-version 3.11 --no-header \
        --no-annotate --no-emit-index-url --no-emit-find-links \
        --output-file "requirements-$program.txt" -
done

# Packages that 'slurmpod job venv' installs on a cluster, for HyperPod's Python and later ones.
echo 'torch==2.13.0' | uv pip compile --quiet --upgrade --universal --python-version 3.10 --no-header \
    --no-annotate --no-emit-index-url --no-emit-find-links --generate-hashes --only-binary :all: \
    --no-emit-build-options --output-file templates/jobs/venv/pytorch.lock -
