#!/usr/bin/env bash
# Starts Slurm on every node: what this company had before, shortened.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
config=/opt/ml/config/resource_config.json
until [[ -s $config ]]; do sleep 1; done

exec python3 "$here/start_slurm.py" "$config" "$here/provisioning_parameters.json"
