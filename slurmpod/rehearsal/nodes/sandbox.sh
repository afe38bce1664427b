#!/bin/sh
# Pid 1 of a rehearsal's sandbox: the namespaces that hold all its machines.
# When this process ends, the kernel ends every process in every machine, and with them go all
# mounts, networks and interfaces. It ends when its standard input, whose other end the owning
# process holds, reports end of file: so nothing outlives the owner, however the owner ends.
# Environment: BRIDGE (the interface that gets the router's address of every subnet), FILE_SYSTEMS (a
# directory).
set -eu

ip link set lo up
# An address of its own: else it has one of its ports', and all machines lose the router with that.
ip link add "$BRIDGE" address 02:00:00:00:00:01 type bridge
ip link set "$BRIDGE" up

# No way out, and no waiting for one: unknown addresses are refused at once. A silent drop would
# cost slurmd 10 seconds for every name that it cannot resolve.
echo 1 >/proc/sys/net/ipv4/ip_forward
# All subnets share the bridge; their machines are not to find out that no router is needed.
for interface in all "$BRIDGE"; do echo 0 >"/proc/sys/net/ipv4/conf/$interface/send_redirects"; done
ip route add unreachable default

# What is mounted here later appears in all machines, also in those that run already.
mount -t tmpfs -o mode=755 file-systems "$FILE_SYSTEMS"
mount --make-shared "$FILE_SYSTEMS"

echo ready
exec 3<&0
cat <&3 >/dev/null & # a child, so that this shell is free to reap whatever is orphaned here
wait
