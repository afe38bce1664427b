"""Users and groups that HyperPod's image has."""

IMAGE_USER = "ubuntu"
"""The default user of HyperPod's image, for people without a separate user."""

IMAGE_USER_ID = 1000

NAMES_OF_THE_IMAGE = frozenset(
    (
        *("root", "daemon", "bin", "sys", "sync", "games", "man", "lp", "mail", "news", "uucp"),
        *("proxy", "www-data", "backup", "list", "irc", "gnats", "nobody", "_apt"),
        *("adm", "tty", "disk", "dialout", "fax", "voice", "cdrom", "floppy", "tape", "sudo"),
        *("audio", "dip", "operator", "src", "shadow", "utmp", "video", "sasl", "plugdev"),
        *("staff", "users", "nogroup", "input", "kvm", "render", "sgx", "lxd", "crontab"),
        *("messagebus", "syslog", "uuidd", "tcpdump", "sshd", "landscape", "pollinate", "tss"),
        *("dhcpcd", "fwupd-refresh", "lxd", "netdev", "admin", "docker", "ssl-cert", "sssd"),
        *("slurm", "munge", "mysql", "ec2-instance-connect", "ssm-user", "ec2-user", IMAGE_USER),
    )
)
"""Of Debian's and Ubuntu's base system and cloud images, Docker, MariaDB, Slurm and AWS's agents,
beside everything that begins with `systemd-`."""


def is_of_the_image(name: str) -> bool:
    """Return whether a user or group of this name is, or may be, on the image."""
    return name in NAMES_OF_THE_IMAGE or name.startswith("systemd-")
