#!/bin/sh
# Pid 1 of a rehearsal's sandbox: the namespaces that hold all its machines.
# When this process ends, the kernel ends every process in every machine, and removes all mounts,
# networks and interfaces. It ends when its standard input, whose other end the owning process
# holds, reports end of file: so nothing outlives the owner, however the owner ends.
# Environment: BRIDGE (the interface that gets the router's address of every subnet), FILE_SYSTEMS (a
# directory).
set -eu

ip link set lo up
# Its own address: otherwise it takes one of its ports', and losing that port cuts off the router.
ip link add "$BRIDGE" address 02:00:00:00:00:01 type bridge
ip link set "$BRIDGE" up

# No route out, and no delay either: unknown addresses are refused at once. A silent drop would
# cost slurmd 10 seconds for every name that it cannot resolve.
echo 1 >/proc/sys/net/ipv4/ip_forward
# All subnets share the bridge; their machines must not learn that they need no router.
for interface in all "$BRIDGE"; do echo 0 >"/proc/sys/net/ipv4/conf/$interface/send_redirects"; done
ip route add unreachable default

# Whatever is mounted here later appears in all machines, including running ones.
mount -t tmpfs -o mode=755 file-systems "$FILE_SYSTEMS"
mount --make-shared "$FILE_SYSTEMS"

echo ready
exec 3<&0
cat <&3 >/dev/null & # a child, so that this shell can reap orphans
wait
