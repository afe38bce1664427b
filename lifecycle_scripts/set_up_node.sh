#!/bin/bash
# The one entry of this folder's Python program, called by the script that HyperPod starts. HyperPod
# runs that one as root, on every new node: without HOME, terminal or arguments, and in the folder of
# the bundle. What it prints goes to CloudWatch Logs; its last line and its exit status are what the
# service shows for a failed node. All work is done in Python.
#
# With --dry-run it only says what it would do, and writes nothing.
set -u -o pipefail

logs=/var/log/provision
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1

cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
# -I and -S: no package of the image has a part in this.
if ! python3 -ISc 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    echo "FAILED: this image has no Python 3.10 or later as python3; fix: use an image of HyperPod" \
        "for Slurm with Ubuntu 22.04 or later (image_id of the group)"
    exit 1
fi
if [ "${1-}" = --dry-run ]; then
    exec python3 -m slurmpod_lifecycle --dry-run
fi
mkdir -p "$logs"
exec 9>"$logs/.lock" # two runs at once would take each other's half-done work for a failure
if ! flock --nonblock 9; then
    echo "waiting: another run of these scripts is not finished"
    flock 9
fi
python3 -m slurmpod_lifecycle "$logs/report.json" 2>&1 | tee -a "$logs/provisioning.log"
exit "${PIPESTATUS[0]}"
