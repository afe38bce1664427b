#!/bin/bash
# HyperPod runs this as root, once, on every new node: without HOME, terminal or arguments, and in
# the folder of the bundle. What it prints goes to CloudWatch Logs; its last line and its exit
# status are what the service shows for a failed node. All work is done in Python.
set -u -o pipefail

logs=/var/log/provision
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1

cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
mkdir -p "$logs"
python3 -m slurmpod_lifecycle "$logs/report.json" 2>&1 | tee -a "$logs/provisioning.log"
exit "${PIPESTATUS[0]}"
