#!/usr/bin/env bash
# Nobody takes a whole login node: two processors and 8 GiB for each person.
set -euo pipefail

folder=/etc/systemd/system/user-.slice.d
mkdir -p "$folder"
printf '[Slice]\nCPUQuota=200%%\nMemoryMax=8G\n' >"$folder/50-share.conf"
systemctl daemon-reload
