#!/bin/sh
# Pid 1 of a rehearsal's enclosure: the namespaces that hold all its machines.
# When this process ends, the kernel ends every process in every machine, and with them go all
# mounts, networks and interfaces. It ends when its standard input, whose other end the owning
# process holds, reports end of file: so nothing outlives the owner, however the owner ends.
# Environment: BRIDGE, GATEWAY (address/prefix), FILE_SYSTEMS (a directory).
set -eu

ip link set lo up
ip link add "$BRIDGE" type bridge
ip address add "$GATEWAY" dev "$BRIDGE"
ip link set "$BRIDGE" up

# No way out, and no waiting for one: unknown addresses are refused at once. A silent drop would
# cost slurmd 10 seconds for every name that it cannot resolve.
echo 1 >/proc/sys/net/ipv4/ip_forward
ip route add unreachable default

# What is mounted here later appears in all machines, also in those that run already.
mount -t tmpfs -o mode=755 file-systems "$FILE_SYSTEMS"
mount --make-shared "$FILE_SYSTEMS"

echo ready
exec 3<&0
cat <&3 >/dev/null & # a child, so that this shell is free to reap whatever is orphaned here
wait
