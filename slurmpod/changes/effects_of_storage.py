"""What changing fields does, about file systems and mounted buckets: see `effects`.

Sources: the "Update requires" lines of the AWS::FSx pages of the CloudFormation reference;
UpdateFileSystem in the FSx API reference.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from slurmpod.changes.effect import (
    CANNOT_GO_BACK,
    CANNOT_SHRINK,
    FILE_SYSTEM_AGAIN,
    GUARD,
    IN_PLACE,
    LINK_AGAIN,
    NEW_NODES,
    OTHER_FILE_SYSTEM,
    PATH_ON_NEW_NODES,
    Effect,
    Kind,
)
from slurmpod.changes.effects_of_lifecycle import BY_SCRIPTS
from slurmpod.model.file_systems import Backups
from slurmpod.model.lustre import (
    AdditionalLustre,
    DataRepository,
    ExistingLustre,
    Lustre,
    RootSquash,
)
from slurmpod.model.openzfs import ExistingOpenZfs, OpenZfs
from slurmpod.model.storage import S3Mount, Storage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

KEPT = Effect(Kind.LOSES, "nodes lose it; the file system is kept, and costs")

_LUSTRE = {
    "mount_path": PATH_ON_NEW_NODES,
    "existing": OTHER_FILE_SYSTEM,
    "deployment_type": FILE_SYSTEM_AGAIN,
    "storage_type": FILE_SYSTEM_AGAIN,
    "capacity_gib": Effect(
        Kind.IN_PLACE, "changed in place; the file system is slower for some hours"
    ),
    "throughput_mbps_per_tib": Effect(
        Kind.IN_PLACE,
        "changed in place with a pause of some minutes; with EFA, and on HDD, FSx refuses it",
    ),
    "throughput_mbps": IN_PLACE,
    "read_cache_gib": Effect(
        Kind.IN_PLACE,
        "changed in place; what the cache held is read anew from slower storage; FSx refuses to "
        "make it larger or smaller by less than 10 percent",
    ),
    "drive_cache": FILE_SYSTEM_AGAIN,
    "compression": Effect(Kind.IN_PLACE, "changed in place; counts for new data"),
    "version": Effect(Kind.IN_PLACE, "upgraded in place; all clients must be unmounted for it"),
    "metadata_iops": IN_PLACE,
    "efa": FILE_SYSTEM_AGAIN,
    "kms_key_arn": FILE_SYSTEM_AGAIN,
    "backups": IN_PLACE,
    "maintenance_window": IN_PLACE,
    "root_squash": IN_PLACE,
    "data_repositories": IN_PLACE,
    "on_delete": GUARD,
}

STORAGE: Mapping[type[BaseModel], Mapping[str, Effect]] = MappingProxyType(
    {
        Storage: {
            "lustre": IN_PLACE,
            "additional_lustre": IN_PLACE,
            "openzfs": IN_PLACE,
            "s3_mounts": NEW_NODES,
            "scratch": BY_SCRIPTS,
        },
        Lustre: _LUSTRE,
        AdditionalLustre: {**_LUSTRE, "name": FILE_SYSTEM_AGAIN},
        ExistingLustre: dict.fromkeys(("id", "mount_name"), OTHER_FILE_SYSTEM),
        Backups: dict.fromkeys(("retention_days", "start_time", "copy_tags"), IN_PLACE),
        RootSquash: dict.fromkeys(("user", "except_nids"), IN_PLACE),
        DataRepository: {
            "path": LINK_AGAIN,
            "s3_uri": LINK_AGAIN,
            "import_events": IN_PLACE,
            "export_events": IN_PLACE,
            "import_metadata_on_create": LINK_AGAIN,
        },
        OpenZfs: {
            "mount_path": PATH_ON_NEW_NODES,
            "existing": OTHER_FILE_SYSTEM,
            "deployment_type": FILE_SYSTEM_AGAIN,
            "capacity_gib": Effect(
                Kind.IN_PLACE, "changed in place; FSx refuses less than 10 percent more at a time"
            ),
            "throughput_mbps": IN_PLACE,
            "iops": IN_PLACE,
            "compression": FILE_SYSTEM_AGAIN,
            "kms_key_arn": FILE_SYSTEM_AGAIN,
            "backups": IN_PLACE,
            "maintenance_window": IN_PLACE,
            "on_delete": GUARD,
        },
        ExistingOpenZfs: {"id": OTHER_FILE_SYSTEM},
        S3Mount: dict.fromkeys(
            ("bucket", "prefix", "mount_path", "read_only", "kms_key_arn"), NEW_NODES
        ),
    }
)

LESS_STORAGE: Mapping[tuple[type[BaseModel], str], Effect] = MappingProxyType(
    {
        (Lustre, "capacity_gib"): CANNOT_SHRINK,
        (Lustre, "metadata_iops"): Effect(
            Kind.REFUSED,
            "FSx refuses: metadata operations can only become more; where FSx chooses, it has "
            "some for the capacity",
        ),
        (Lustre, "throughput_mbps"): Effect(
            Kind.REFUSED, "FSx refuses: the throughput of INTELLIGENT_TIERING can only become more"
        ),
        (Lustre, "version"): CANNOT_GO_BACK,
        (OpenZfs, "capacity_gib"): CANNOT_SHRINK,
    }
)

NO_STORAGE: Mapping[type[BaseModel], Effect] = MappingProxyType(
    {
        Lustre: KEPT,
        OpenZfs: KEPT,
        RootSquash: Effect(
            Kind.IN_PLACE, "root stays squashed: write the user 0:0 first to turn it off"
        ),
        DataRepository: Effect(Kind.IN_PLACE, "the link to the bucket is removed; files stay"),
    }
)
