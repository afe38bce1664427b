"""FSx for Lustre file systems in the `storage` section."""

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from slurmpod.environment.base import (
    CANNOT_SHRINK,
    FILE_SYSTEM_AGAIN,
    GUARD,
    IN_PLACE,
    OTHER_FILE_SYSTEM,
    PATH_ON_NEW_NODES,
    REPLACEMENT,
    Effect,
    Kind,
    Section,
)
from slurmpod.environment.file_systems import (
    Backups,
    FileSystemId,
    MaintenanceWindow,
    OnDelete,
    StorageType,
)
from slurmpod.environment.known import Known
from slurmpod.environment.names import KmsKeyArn, MountPath

RepositoryEvents = tuple[Annotated[str, Known("storage.lustre.data_repositories.events")], ...]

LINK_AGAIN = Effect(
    Kind.REFUSED,
    "the new link would overlap the old: remove the entry, deploy, add it again",
    source=f"{REPLACEMENT}; FSx API reference, CreateDataRepositoryAssociation",
)


NEW_ONE_UNSAID = replace(
    FILE_SYSTEM_AGAIN,
    source="",
    doubt="UpdateFileSystem does not accept it for Lustre, and CloudFormation's reference does "
    "not say that it creates a new file system: the deployment may fail instead",
)


class ExistingLustre(Section):
    """An existing FSx for Lustre file system."""

    id: Annotated[FileSystemId, OTHER_FILE_SYSTEM]
    """Id of the file system."""

    mount_name: Annotated[
        str, OTHER_FILE_SYSTEM, Field(pattern=r"^[A-Za-z0-9_-]{1,8}$", examples=["fsx12345"])
    ]
    """Its mount name, as `aws fsx describe-file-systems` shows it."""


class DataRepository(Section):
    """A folder of the file system that FSx synchronizes with a prefix of an S3 bucket."""

    path: Annotated[
        str, LINK_AGAIN, Field(pattern=r"^(/[^/\s]+)+$|^/$", max_length=4096, examples=["/data"])
    ]
    """Folder inside the file system."""

    s3_uri: Annotated[
        str,
        LINK_AGAIN,
        Field(pattern=r"^s3://[a-z0-9][a-z0-9.-]+(/.*)?$", examples=["s3://my-data/imagenet/"]),
    ]
    """Bucket and prefix."""

    import_events: Annotated[RepositoryEvents, IN_PLACE] = ("NEW", "CHANGED", "DELETED")
    """Changes in the bucket that appear in the folder."""

    export_events: Annotated[RepositoryEvents, IN_PLACE] = ()
    """Changes in the folder that are written to the bucket."""

    import_metadata_on_create: Annotated[bool, LINK_AGAIN] = True
    """Whether the names of all existing objects are imported at once."""

    @property
    def bucket(self) -> str:
        """Name of the bucket."""
        return self.s3_uri.split("/")[2]


class RootSquash(Section):
    """Maps root on nodes to an ordinary user of the file system."""

    user: Annotated[
        str, IN_PLACE, Field(pattern=r"^[0-9]{1,10}:[0-9]{1,10}$", examples=["65534:65534"])
    ]
    """User and group id that root becomes, such as 65534:65534; 0:0 turns root squash off again,
    which removing the section does not."""

    except_nids: Annotated[
        tuple[Annotated[str, Field(examples=["10.0.128.5@tcp"])], ...],
        IN_PLACE,
        Field(max_length=64),
    ] = ()
    """Network ids of clients, or ranges of them, that are exempt."""


class Lustre(Section):
    """An FSx for Lustre file system that every node mounts; new unless `existing` is given."""

    mount_path: Annotated[MountPath, PATH_ON_NEW_NODES] = "/fsx"
    """Folder on every node."""

    existing: Annotated[ExistingLustre | None, OTHER_FILE_SYSTEM] = None
    """Your own file system, in place of a new one."""

    deployment_type: Annotated[str, Known("storage.lustre.deployment_type"), FILE_SYSTEM_AGAIN] = (
        "PERSISTENT_2"
    )
    """Generation of the file system: replicated with the newest features, replicated and older, or
    not replicated.
    """

    storage_type: Annotated[StorageType, NEW_ONE_UNSAID, Field(strict=False)] = StorageType.SSD
    """SSD, HDD (PERSISTENT_1), or INTELLIGENT_TIERING (PERSISTENT_2; grows and shrinks)."""

    capacity_gib: Annotated[
        int,
        Effect(
            Kind.IN_PLACE,
            "changed in place; the file system is slower for some hours",
            less=CANNOT_SHRINK,
        ),
        Field(ge=1200),
    ] = 1200
    """Size in GiB; on SSD 1200, 2400, or a multiple of 2400. It grows in place and never shrinks.
    Not for INTELLIGENT_TIERING."""

    throughput_mbps_per_tib: Annotated[
        int | None,
        Known("storage.lustre.throughput_mbps_per_tib"),
        Effect(
            Kind.IN_PLACE,
            "changed in place with a pause of some minutes; with EFA, and on HDD, FSx refuses it",
        ),
    ] = None
    """Throughput in MB/s for each TiB of capacity; default: 250, or the least that PERSISTENT_1
    has."""

    throughput_mbps: Annotated[
        int | None,
        replace(
            IN_PLACE,
            less=Effect(
                Kind.REFUSED,
                "FSx refuses: the throughput of INTELLIGENT_TIERING can only grow",
                source="FSx API reference, UpdateFileSystemLustreConfiguration, ThroughputCapacity",
            ),
        ),
        Field(ge=1000, le=2_000_000),
    ] = None
    """Throughput of the whole file system in MB/s; INTELLIGENT_TIERING only: 1000, 2000, or a
    multiple of 4000; default: 4000."""

    read_cache_gib: Annotated[
        int | None,
        Effect(
            Kind.IN_PLACE,
            "changed in place; cached data is read again from slower storage; FSx refuses to "
            "grow or shrink it by less than 10 percent",
        ),
        Field(ge=0),
    ] = None
    """Size of the SSD read cache of INTELLIGENT_TIERING, at least 8 for every 1000 MB/s, or 0 for
    none; default: in proportion to throughput."""

    drive_cache: Annotated[bool, NEW_ONE_UNSAID] = False
    """SSD cache for reading from HDD."""

    compression: Annotated[
        str,
        Known("storage.lustre.compression"),
        Effect(Kind.IN_PLACE, "changed in place; applies to new data"),
    ] = "LZ4"
    """Compression of new data on the servers."""

    version: Annotated[
        str,
        Known("storage.lustre.version"),
        Effect(
            Kind.IN_PLACE,
            "upgraded in place; all clients must unmount it first",
            less=Effect(
                Kind.REFUSED,
                "FSx refuses: a version cannot be downgraded",
                source="FSx API reference, UpdateFileSystem, FileSystemTypeVersion",
            ),
        ),
    ] = "2.15"
    """Lustre version of the servers."""

    metadata_iops: Annotated[
        int | None,
        replace(
            IN_PLACE,
            less=Effect(
                Kind.REFUSED,
                "FSx refuses: metadata operations can only grow; if FSx chooses, they follow "
                "from the capacity or the throughput",
                source="FSx API reference, UpdateFileSystemLustreMetadataConfiguration",
            ),
        ),
        Field(ge=0, le=192_000),
    ] = None
    """Provisioned metadata operations per second (PERSISTENT_2): 1500, 3000, 6000 or a multiple of
    12000, or 0: FSx chooses, by capacity or by throughput; default: 0, and 6000 on
    INTELLIGENT_TIERING."""

    efa: Annotated[bool, NEW_ONE_UNSAID] = False
    """Whether EFA nodes reach the file system over EFA (PERSISTENT_2; cannot be added later)."""

    kms_key_arn: Annotated[KmsKeyArn | None, FILE_SYSTEM_AGAIN] = None
    """Key that encrypts the data; default: AWS's own for FSx."""

    backups: Annotated[Backups | None, IN_PLACE] = None
    """Daily backups; default: none."""

    maintenance_window: Annotated[MaintenanceWindow | None, IN_PLACE] = None
    """When FSx may patch the servers, such as 7:05:00 (Sunday, 5 o'clock UTC)."""

    root_squash: Annotated[
        RootSquash | None,
        replace(
            IN_PLACE,
            removed=Effect(
                Kind.IN_PLACE, "root squash stays on: set the user to 0:0 first to turn it off"
            ),
        ),
    ] = None
    """Maps root on nodes to an ordinary user of the file system."""

    data_repositories: Annotated[
        tuple[DataRepository, ...],
        replace(
            IN_PLACE, removed=Effect(Kind.IN_PLACE, "the link to the bucket is removed; files stay")
        ),
        Field(max_length=8),
    ] = ()
    """Folders that are synchronized with S3 buckets."""

    on_delete: Annotated[OnDelete, GUARD] = "retain"
    """What happens to the data when the stack is deleted or the file system replaced."""


class AdditionalLustre(Lustre):
    """An additional FSx for Lustre file system."""

    name: Annotated[
        str,
        replace(FILE_SYSTEM_AGAIN, source="slurmpod: the name is in the file system's logical id"),
        Field(pattern=r"^[a-z](-*[a-z0-9])*$", max_length=20, examples=["scratch"]),
    ]
    """Its name within the environment."""

    mount_path: Annotated[MountPath, PATH_ON_NEW_NODES]
    """Folder on every node."""
