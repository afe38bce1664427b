#!/bin/sh
# Creates a machine's disk in the sandbox, where it survives the machine's boots: it is removed when
# it is unmounted, or with the sandbox.
# Environment:
#   DISK      the empty folder that becomes the disk; its `root` is the machine's root directory
#   IMAGE     the baked root directory, shared by all machines and never written
#   MACHINE   host name
#   GATEWAY   the router of the machine's subnet
# Standard input: a tar archive of the files on the machine at first boot.
set -eu
umask 022

SIZE=4g

make_root() {
    mount -t tmpfs -o "mode=755,size=$SIZE" disk "$DISK"
    cd "$DISK"
    mkdir image upper work root
    mount --bind "$IMAGE" image
    mount -t overlay -o lowerdir=image,upperdir=upper,workdir=work overlay root
}

make_files() {
    echo "$MACHINE" >root/etc/hostname
    tr -d - </proc/sys/kernel/random/uuid >root/etc/machine-id
    # No process listens there, so a name that is not in /etc/hosts is refused at once.
    rm -f root/etc/resolv.conf
    printf 'nameserver %s\noptions timeout:1 attempts:1\n' "$GATEWAY" >root/etc/resolv.conf
    chroot root tar --extract --file - # inside, where its links and users are known
}

make_root
make_files
