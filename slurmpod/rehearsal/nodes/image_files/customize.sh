#!/bin/sh
# Turns a freshly installed Debian into the equivalent of the HyperPod AMI before any lifecycle script.
# Arguments: the root directory, and the version of Slurm to install in it. Uses the host's tools,
# and those inside the directory by chroot.
set -eu
root=$1
version=$2
files=$(dirname "$0")/root
units=$root/etc/systemd/system

copy_files() {
    cp -R --no-preserve=mode,ownership "$files/." "$root/"
    chmod 755 "$root/usr/sbin/mount.lustre" "$root/usr/sbin/mount.nfs" \
        "$root/usr/sbin/lctl" "$root/usr/sbin/lnetctl" \
        "$root/usr/local/sbin/modprobe" "$root/usr/local/sbin/modinfo" \
        "$root/usr/local/sbin/sysctl" \
        "$root/usr/local/sbin/free-automounts" "$root/usr/local/sbin/wait-until-serving" \
        "$root/usr/local/bin/aws"
    mkdir -p "$units/remote-fs.target.wants"
    ln -s ../free-automounts.service "$units/remote-fs.target.wants/"
    ln -s mount.nfs "$root/usr/sbin/mount.nfs4"
    chmod 440 "$root/etc/sudoers.d/90-ubuntu"
}

# HyperPod starts no Slurm, database or metrics service: lifecycle scripts do.
disable_services() {
    for service in sackd slurmctld slurmd slurmdbd mariadb prometheus prometheus-node-exporter; do
        rm -f "$units/multi-user.target.wants/$service.service"
    done
    rm -f "$units"/timers.target.wants/*
}

# Units with nothing to do, or that must not run, in a machine without its own hardware.
mask_units() {
    for unit in \
        getty.target console-getty.service systemd-logind.service systemd-networkd.service \
        systemd-udevd.service systemd-modules-load.service modprobe@.service \
        systemd-tmpfiles-setup-dev-early.service systemd-tmpfiles-setup-dev.service \
        systemd-pstore.service systemd-random-seed.service systemd-remount-fs.service \
        systemd-hwdb-update.service systemd-sysusers.service systemd-update-utmp.service \
        systemd-update-done.service systemd-journal-catalog-update.service ldconfig.service \
        systemd-ask-password-console.path systemd-ask-password-wall.path \
        systemd-tmpfiles-clean.timer dev-hugepages.mount sys-fs-fuse-connections.mount; do
        ln -sf /dev/null "$units/$unit"
    done
}

# Every daemon-reload runs all unit generators; these find nothing in such a machine.
mask_generators() {
    generators=$root/etc/systemd/system-generators
    mkdir "$generators"
    for name in debug getty gpt-auto hibernate-resume rc-local run ssh system-update tpm2; do
        ln -s /dev/null "$generators/systemd-$name-generator"
    done
}

# Every service here has a unit; with a System V script, `systemctl enable` does everything twice.
remove_init_scripts() {
    rm -f "$root"/etc/init.d/* "$root"/etc/rc?.d/*
}

# Without a certificate MariaDB creates a key at each start, which takes most of the start time.
give_mariadb_a_certificate() {
    folder=/etc/mysql/certificate
    mkdir "$root$folder"
    chroot "$root" openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
        -subj /CN=mariadb -days 36500 -keyout "$folder/key.pem" -out "$folder/certificate.pem"
    chroot "$root" chown -R mysql: "$folder"
    printf '[mariadbd]\nssl_key = %s/key.pem\nssl_cert = %s/certificate.pem\n' "$folder" "$folder" \
        >"$root/etc/mysql/mariadb.conf.d/90-certificate.cnf"
}

# With this setting, slurmdbd 26.05 exits if two writes collide. HyperPod's MariaDB has it off.
switch_off_snapshot_isolation() {
    printf '[mariadbd]\ninnodb_snapshot_isolation = OFF\n' \
        >"$root/etc/mysql/mariadb.conf.d/90-isolation.cnf"
}

# Debian suites other than stable move on to newer versions.
check_slurm() {
    # shellcheck disable=SC2016 # dpkg-query expands it
    found=$(chroot "$root" dpkg-query --show --showformat '${Version}' slurmd)
    case $found in
        "$version".*) ;;
        *)
            echo "E: this Debian now has Slurm $found, not $version" >&2
            exit 1
            ;;
    esac
}

# For example, /opt/slurm -> /opt/slurm-24.11, with etc as the only place of the configuration.
arrange_slurm() {
    slurm=$root/opt/slurm-$version
    mkdir -p "$slurm/bin" "$slurm/sbin"
    ln -s "slurm-$version" "$root/opt/slurm"
    for package in slurm-client slurmd slurmctld slurmdbd sackd; do
        chroot "$root" dpkg-query --listfiles "$package"
    done | sed -n 's,^/usr/\(s\?bin\)/\(.*\),\1 \2,p' | while read -r folder name; do
        ln -s "/usr/$folder/$name" "$slurm/$folder/${name%-wlm}"
    done
    plugins=$(echo "$root"/usr/lib/*/slurm-wlm)
    ln -s "${plugins#"$root"}" "$slurm/lib"
    rm -r "$root/etc/slurm"
    mkdir -p "$slurm/etc/default"
    install -m 644 "$(dirname "$0")/plugstack.conf" "$slurm/etc/"
    ln -s /opt/slurm/etc "$root/etc/slurm"
    for folder in var/spool/slurmctld var/spool/slurmd var/log/slurm; do
        mkdir -p "$root/$folder"
        chroot "$root" chown slurm: "/$folder"
    done
}

# The srun option --auto-resume, compiled with the headers of this Slurm. tcc omits the note that no
# executable stack is needed, and glibc loads nothing without it.
build_plugin() {
    cp "$(dirname "$0")/auto_resume.c" "$root/tmp/"
    plugin=/opt/slurm/lib/auto_resume.so
    chroot "$root" tcc -shared -Wall -Werror -o "$plugin" /tmp/auto_resume.c
    chroot "$root" patchelf --clear-execstack "$plugin"
    rm "$root/tmp/auto_resume.c"
    install -m 666 /dev/null "$root/var/log/aws/clusters/sagemaker-autoresume.log" # by users' steps
}

make_users_and_folders() {
    chroot "$root" useradd --create-home --uid 1000 --shell /bin/bash ubuntu
    for folder in opt/ml/config opt/sagemaker opt/sagemaker_cluster opt/dlami/nvme \
        var/log/provision var/log/aws/clusters; do
        mkdir -p "$root/$folder"
    done
}

# HyperPod's image has no pam_slurm_adopt; Debian's is moved out of PAM's path, for profiles with it.
put_aside_pam_module() {
    mv "$root"/usr/lib/*/security/pam_slurm_adopt.so "$root/usr/local/lib/"
    chroot "$root" dpkg --purge libpam-slurm-adopt
}

# Files that must differ between machines or clusters.
remove_identity() {
    rm -f "$root/etc/hostname" "$root"/etc/ssh/ssh_host_* "$root/etc/munge/munge.key"
    : >"$root/etc/machine-id"
}

check_slurm
copy_files
disable_services
mask_units
mask_generators
remove_init_scripts
give_mariadb_a_certificate
switch_off_snapshot_isolation
arrange_slurm
make_users_and_folders
build_plugin
put_aside_pam_module
remove_identity
