"""The `access` section: who may use the cluster, as which user, and how they get there."""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from slurmpod.environment.base import (
    BY_SCRIPTS,
    IN_PLACE,
    PEOPLE_LATER,
    STAYS,
    Effect,
    Kind,
    Section,
)
from slurmpod.environment.names import KmsKeyArn, MountPath, SecretArn
from slurmpod.environment.network import RetentionDays
from slurmpod.environment.slurm_limits import AccountingName

PORT = r"(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3})"
"""A number from 1 to 65535."""

DistinguishedName = Annotated[
    str,
    Field(
        max_length=512,
        pattern=r"^[A-Za-z][A-Za-z0-9-]*=[^\x00-\x1f\x7f]+$",
        examples=["dc=example,dc=com"],
    ),
]


class Directory(Section):
    """Users and groups of a directory server, which nodes look up through SSSD."""

    uris: Annotated[
        tuple[
            Annotated[
                str,
                Field(
                    pattern=rf"^ldaps?://[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:{PORT})?$",
                    max_length=255,
                    examples=["ldaps://ldap.example.com"],
                ),
            ],
            ...,
        ],
        PEOPLE_LATER,
        Field(min_length=1, max_length=8),
    ]
    """Servers, in the order in which nodes ask them. The connection is always encrypted: ldap:// by
    StartTLS."""

    base_dn: Annotated[DistinguishedName, PEOPLE_LATER]
    """Search base for users and groups."""

    kind: Annotated[Literal["rfc2307", "rfc2307bis", "active_directory"], PEOPLE_LATER] = "rfc2307"
    """Schema of the directory: how it stores group members and ids."""

    bind_dn: Annotated[DistinguishedName | None, PEOPLE_LATER] = None
    """Name that nodes bind as; default: none (anonymous)."""

    bind_secret_arn: Annotated[SecretArn | None, PEOPLE_LATER] = None
    """Secret in Secrets Manager with the key password, for `bind_dn`; nodes fetch it."""

    bind_secret_kms_key_arn: Annotated[KmsKeyArn | None, IN_PLACE] = None
    """Key of the secret, which nodes are then allowed to use; default: AWS's own key."""

    ca_certificate: Annotated[
        str | None,
        PEOPLE_LATER,
        Field(
            max_length=65_536,
            pattern=r"^\s*-----BEGIN CERTIFICATE-----",
            examples=["-----BEGIN CERTIFICATE-----"],
        ),
    ] = None
    """Certificate of the authority that signed the servers', as PEM; default: those of the
    image."""

    allowed_groups: Annotated[
        tuple[
            Annotated[
                str,
                Field(pattern=r"^[^\x00-\x1f\x7f,()*\\]+$", max_length=256, examples=["hpc-users"]),
            ],
            ...,
        ],
        PEOPLE_LATER,
    ] = ()
    """Groups of the directory whose members may log in; default: all its users."""


PosixName = Annotated[
    str, Field(pattern=r"^[a-z_][a-z0-9_-]{0,31}$", max_length=32, examples=["alice"])
]
"""A name that every Linux accepts: useradd(8) allows 32 lower-case letters, digits, - and _."""

PosixId = Annotated[int, Field(ge=0, le=4_294_967_293, examples=[20001])]

SshKey = Annotated[
    str,
    Field(
        max_length=8192,
        pattern=r"^[^\x00-\x1f\x7f]+$",
        examples=["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI... alice@laptop"],
    ),
]

NEXT_SESSIONS = Effect(Kind.IN_PLACE, "changed in place, for new sessions")


class PosixGroup(Section):
    """A group of users, with the same id on every node and file system."""

    name: Annotated[PosixName, PEOPLE_LATER]
    """Its name: lower-case letters, digits, hyphens and underscores, the first one no digit."""

    gid: Annotated[
        PosixId,
        Effect(
            Kind.LOSES,
            "files with the old id belong to no group until their group is changed; running "
            "nodes refuse the new id",
        ),
    ]
    """Its id, which never changes: files keep it."""


class User(Section):
    """A person, with the same id on every node and file system."""

    name: Annotated[PosixName, PEOPLE_LATER]
    """Login name: lower-case letters, digits, hyphens and underscores, the first one no digit."""

    uid: Annotated[
        PosixId,
        Effect(
            Kind.REFUSED,
            "files and the home directory keep the old id, and nodes refuse to change their owner",
            source="slurmpod: the step `users` of its lifecycle scripts",
        ),
    ]
    """Its id, which never changes: files keep it. The user's own group has the same."""

    full_name: Annotated[
        str,
        PEOPLE_LATER,
        Field(max_length=100, pattern=r"^[^\x00-\x1f\x7f:,]*$", examples=["Alice Example"]),
    ] = ""
    """Full name or comment, as `getent passwd` shows it; without commas and colons."""

    group: Annotated[PosixName | None, PEOPLE_LATER] = None
    """Primary group; default: a group of the user's own, with its name and id."""

    groups: Annotated[tuple[PosixName, ...], PEOPLE_LATER] = ()
    """Further groups."""

    ssh_keys: Annotated[tuple[SshKey, ...], PEOPLE_LATER, Field(max_length=20)] = ()
    """Public keys, one line each, as in id_ed25519.pub."""

    accounts: Annotated[tuple[AccountingName, ...], PEOPLE_LATER] = ()
    """Slurm accounts that the user's jobs can be charged to; default: all."""

    default_account: Annotated[AccountingName | None, PEOPLE_LATER] = None
    """Account of jobs that specify none; default: the first."""

    qos: Annotated[tuple[AccountingName, ...], PEOPLE_LATER] = ()
    """QOS that the user's jobs can use; default: those of the account."""

    shares: Annotated[int, PEOPLE_LATER, Field(ge=1, le=1_000_000)] = 1
    """The user's share of each account, beside its other users."""

    admin: Annotated[bool, PEOPLE_LATER] = False
    """Whether the user may become root on all nodes and manage Slurm."""


class Sessions(Section):
    """Sessions that people open with AWS Systems Manager: no open port, no SSH key."""

    run_as: Annotated[
        str,
        NEXT_SESSIONS,
        Field(pattern=r"^([a-z_][a-z0-9_-]{0,31}|\$\{tag\})$", examples=["ubuntu"]),
    ] = "ubuntu"
    """The user of a session on the nodes. `${tag}` takes it from the tag SSMSessionRunAs of the
    IAM user or role, so that each user works under a separate name."""

    record: Annotated[
        Literal["cloudwatch", "s3", "none"],
        Effect(
            Kind.IN_PLACE,
            "new records go to the new place; earlier ones are kept, so that changing back "
            "needs 'npx cdk deploy --all --import-existing-resources -c env=FILE'",
        ),
    ] = "cloudwatch"
    """Where the input and output of sessions are recorded, encrypted."""

    retention_days: Annotated[
        RetentionDays,
        replace(IN_PLACE, less=Effect(Kind.LOSES, "older records are deleted")),
        Field(examples=[365]),
    ] = 365
    """Days after which records are deleted."""

    kms_key_arn: Annotated[
        KmsKeyArn | None,
        Effect(Kind.IN_PLACE, "new records use the new key; earlier ones still need the old key"),
    ] = None
    """Key for sessions and their records; default: slurmpod makes one."""

    idle_timeout_minutes: Annotated[int, NEXT_SESSIONS, Field(ge=1, le=60)] = 20
    """Minutes without input after which a session ends."""

    max_duration_minutes: Annotated[int | None, NEXT_SESSIONS, Field(ge=1, le=1440)] = None
    """Longest duration of a session; default: no limit."""


class Access(Section):
    """Users, groups and access to the nodes."""

    groups: Annotated[tuple[PosixGroup, ...], PEOPLE_LATER] = ()
    """Groups of users."""

    users: Annotated[
        tuple[User, ...],
        replace(
            PEOPLE_LATER,
            removed=Effect(
                Kind.NEW_NODES,
                "the user is locked out of running nodes when their lifecycle scripts run "
                "again; files stay",
                of_cluster=True,
            ),
        ),
    ] = ()
    """Users of the cluster, beside those of `users_file`."""

    users_file: Annotated[
        str | None,
        PEOPLE_LATER,
        Field(pattern=r"^[^\x00]+$", max_length=1024, examples=["users.csv"]),
    ] = None
    """A CSV file with users, relative to this file: the first line names the columns, which are the
    keys of `users`; lists are separated by spaces, keys by `|`.
    """

    home_directory: Annotated[
        MountPath | None,
        Effect(
            Kind.NEW_NODES,
            "empty home directories are created in the new folder; files stay in the old one",
        ),
    ] = None
    """Folder of the home directories on shared storage; default: home below the main file system,
    or /home where OpenZFS is mounted there."""

    directory: Annotated[Directory | None, PEOPLE_LATER] = None
    """A directory (LDAP, Active Directory) with further users, looked up through SSSD."""

    sessions: Annotated[
        Sessions | None,
        replace(
            IN_PLACE,
            removed=Effect(
                Kind.IN_PLACE, "people keep their access until you delete the access stack"
            ),
        ),
    ] = None
    """Policies for administrators and users of the cluster, and sessions through AWS Systems
    Manager; default: none are made."""

    user_groups: Annotated[
        tuple[
            Annotated[
                str,
                Field(pattern=r"^[a-zA-Z0-9](-*[a-zA-Z0-9])*$", max_length=63, examples=["login"]),
            ],
            ...,
        ],
        IN_PLACE,
    ] = ()
    """Instance groups on which the policy for users allows sessions; default: the login groups."""

    ssh_between_nodes: Annotated[bool, replace(BY_SCRIPTS, less=STAYS)] = False
    """Let the image's user connect between nodes by SSH, with a shared key and host keys that every
    node trusts.
    """

    ssh_needs_job: Annotated[bool, replace(BY_SCRIPTS, less=STAYS)] = False
    """Let users log in to a worker only while they have a job running on it (pam_slurm_adopt)."""
