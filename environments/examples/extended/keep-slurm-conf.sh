#!/usr/bin/env bash
# Keeps slurm.conf as it was whenever the scripts ran, where everybody can read it.
set -euo pipefail

install -D --mode=0644 /opt/slurm/etc/slurm.conf "/fsx/slurm-conf/$(date --utc +%Y-%m-%d).conf"
