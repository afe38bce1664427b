#!/usr/bin/env bash
# Lets TCP have buffers that fill a fast network.
set -euo pipefail

cat >/etc/sysctl.d/90-larger-buffers.conf <<'END'
net.core.rmem_max = 67108864
net.core.wmem_max = 67108864
END
sysctl --quiet --load=/etc/sysctl.d/90-larger-buffers.conf
