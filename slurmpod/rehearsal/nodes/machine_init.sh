#!/bin/sh
# Pid 1 of a machine's new namespaces: creates its devices and network around its disk, then becomes
# its systemd. Runs in the sandbox, whose /proc it still sees (pid 1 there is the sandbox).
# Environment:
#   DIRECTORY     this machine's folder on the host: console log, readiness socket, and its disk,
#                 which machine_disk.sh has created
#   MACHINE       host name
#   ADDRESS       address/prefix of INTERFACE;  HARDWARE_ADDRESS: the one below it
#   GATEWAY, BRIDGE, PORT: the network that it joins
#   FILE_SYSTEMS  the shared ones that `mount` finds, kept up to date by mount propagation
#   BOUNDING_SET  capabilities that nothing in the machine may have, as setpriv writes them
#   ACCELERATORS  number of /dev/$ACCELERATOR_KIND<N> there are
set -eu
umask 022

make_root() {
    cd "$DIRECTORY/disk"
    mount -t tmpfs -o mode=755,nosuid,nodev tmpfs root/run
    mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs root/tmp
}

# The kernel's settings are the host's, except those of this machine's own network.
make_kernel_views() {
    mount -t proc -o nosuid,nodev,noexec proc root/proc
    mount --bind root/proc/sys root/proc/sys
    mount --bind root/proc/sys/net root/proc/sys/net
    mount -o remount,bind,ro root/proc/sys
    for path in sysrq-trigger swaps; do
        if [ -e "root/proc/$path" ]; then mount --bind /dev/null "root/proc/$path"; fi
    done
    # A kernel without modules has no such file, and none can be added.
    if [ -e root/proc/modules ]; then mount --bind root/etc/rehearsal/modules root/proc/modules; fi
    mount -t sysfs -o ro,nosuid,nodev,noexec sysfs root/sys
    mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 root/sys/fs/cgroup
}

make_devices() {
    mount -t tmpfs -o mode=755,size=64k tmpfs root/dev
    for device in null zero full random urandom tty autofs; do # autofs: for x-systemd.automount
        if [ ! -e "/dev/$device" ]; then continue; fi
        : >"root/dev/$device"
        mount --bind "/dev/$device" "root/dev/$device"
    done
    mkdir root/dev/pts root/dev/shm root/dev/mqueue
    mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts root/dev/pts
    mount -t tmpfs -o mode=1777 tmpfs root/dev/shm
    mount -t mqueue mqueue root/dev/mqueue
    ln -s pts/ptmx root/dev/ptmx
    ln -s /proc/self/fd root/dev/fd
    ln -s /proc/self/fd/0 root/dev/stdin
    ln -s /proc/self/fd/1 root/dev/stdout
    ln -s /proc/self/fd/2 root/dev/stderr
    : >root/dev/console
    mount --bind ../console.log root/dev/console

    number=0
    while [ "$number" -lt "$ACCELERATORS" ]; do
        mknod -m 666 "root/dev/$ACCELERATOR_KIND$number" c 1 3 # like /dev/null: Slurm only checks
        number=$((number + 1))                                 # whether the file exists
    done
}

# /run/machine is the rehearsal's own folder in the machine.
make_rehearsal_folder() {
    mkdir -p root/run/machine/file-systems
    : >root/run/machine/ready
    mount --bind ../ready root/run/machine/ready
    mount --rbind "$FILE_SYSTEMS" root/run/machine/file-systems
}

# At each start systemd has the kernel check programs for unit settings that no unit here has
# (SocketBind, RestrictNetworkInterfaces, RestrictFileSystems): half of its start time. It does not
# if it finds no libbpf; `ip` still finds it.
hide_bpf_from_systemd() {
    mkdir root/run/machine/without-bpf
    : >root/run/machine/without-bpf/libbpf.so.1
}

make_network() {
    echo "$MACHINE" >/proc/sys/kernel/hostname
    ip link set lo up
    ip link add "$INTERFACE" address "$HARDWARE_ADDRESS" type veth peer name "$PORT" netns /proc/1/ns/net
    nsenter --net=/proc/1/ns/net ip link set "$PORT" master "$BRIDGE" up
    ip address add "$ADDRESS" dev "$INTERFACE"
    ip link set "$INTERFACE" up
    ip route add default via "$GATEWAY"
}

enter_root() {
    cd root
    mkdir run/host
    pivot_root . run/host
    umount -l /run/host
    rmdir /run/host
    mount --make-rshared / # as systemd does: its services also see later mounts
}

make_root
make_kernel_views
make_devices
make_rehearsal_folder
hide_bpf_from_systemd
make_network
enter_root
exec env -i container=slurmpod NOTIFY_SOCKET=/run/machine/ready \
    LD_LIBRARY_PATH=/run/machine/without-bpf \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    setpriv --bounding-set="$BOUNDING_SET" -- /sbin/init --log-level=notice --show-status=0 \
    </dev/null >/dev/console 2>&1
