"""What changing each field does, section by section: the table behind `slurmpod diff`.

Sources: the "Update requires" lines of the AWS::EC2, AWS::FSx, AWS::S3 and AWS::SageMaker::Cluster
pages of the CloudFormation reference; UpdateCluster and UpdateFileSystem in the API references; the
SageMaker HyperPod developer guide. A test holds that every field of the model is here.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from slurmpod.changes.effect import (
    ALARMS,
    CANNOT_GO_BACK,
    CANNOT_SHRINK,
    CLUSTER_AGAIN,
    CONTROLLER_LATER,
    FILE_SYSTEM_AGAIN,
    GROUP_AGAIN,
    GUARD,
    IN_PLACE,
    LINK_AGAIN,
    NETWORK_AGAIN,
    NEW_ENVIRONMENT,
    NEW_NODES,
    NODES_GO,
    NOTHING,
    OTHER_FILE_SYSTEM,
    PATH_ON_NEW_NODES,
    SECURITY_GROUPS_AGAIN,
    Effect,
    Kind,
)
from slurmpod.changes.effects_of_lifecycle import BY_SCRIPTS, LESS_LIFECYCLE, LIFECYCLE, STAYS
from slurmpod.changes.effects_of_people import LESS_PEOPLE, PEOPLE
from slurmpod.changes.effects_of_records import (
    LESS_RECORDS,
    OTHER_RECORDS,
    RECORDS,
    RECORDS_LEFT,
)
from slurmpod.changes.effects_of_watching import LESS_WATCHING, NO_WATCHING, WATCHING
from slurmpod.model.access import Sessions
from slurmpod.model.cluster import Cluster, Group
from slurmpod.model.environment import Environment, Suppression
from slurmpod.model.file_systems import Backups
from slurmpod.model.lifecycle import Artefact
from slurmpod.model.lustre import (
    AdditionalLustre,
    DataRepository,
    ExistingLustre,
    Lustre,
    RootSquash,
)
from slurmpod.model.network import (
    ExistingNetwork,
    ExistingSubnet,
    FlowLogs,
    Network,
    OtherZone,
)
from slurmpod.model.openzfs import ExistingOpenZfs, OpenZfs
from slurmpod.model.rds import Rds
from slurmpod.model.slurm import MultiHead, Slurm
from slurmpod.model.slurm_limits import Account, FairShare, Partition, Qos
from slurmpod.model.storage import S3Mount, Scratch, Storage
from slurmpod.model.updates import AutoPatch, Rollout, ScheduledUpdate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

EFFECTS: Mapping[type[BaseModel], Mapping[str, Effect]] = MappingProxyType(
    {
        Environment: {
            "name": NEW_ENVIRONMENT,
            "account": NEW_ENVIRONMENT,
            "region": NEW_ENVIRONMENT,
            "protected": IN_PLACE,
            "tags": IN_PLACE,
            "network": IN_PLACE,
            "storage": IN_PLACE,
            "cluster": IN_PLACE,
            "slurm": IN_PLACE,
            "lifecycle": IN_PLACE,
            "access": IN_PLACE,
            "identity": IN_PLACE,
            "monitoring": IN_PLACE,
            "budget": IN_PLACE,
            "suppress": NOTHING,
        },
        Suppression: dict.fromkeys(("rule", "reason"), NOTHING),
        Network: {
            **dict.fromkeys(("zone", "existing", "vpc_cidr", "private_subnet_cidr"), NETWORK_AGAIN),
            "secondary_cidrs": NETWORK_AGAIN,
            "other_zones": IN_PLACE,
            "nat": Effect(Kind.IN_PLACE, "connections through a NAT gateway that goes are cut"),
            "closed": NETWORK_AGAIN,
            "interface_endpoints": IN_PLACE,
            "s3_buckets": IN_PLACE,
            "flow_logs": IN_PLACE,
        },
        OtherZone: dict.fromkeys(("zone", "private_subnet_cidr"), NETWORK_AGAIN),
        FlowLogs: {
            "traffic": IN_PLACE,
            "retention_days": Effect(
                Kind.IN_PLACE, "changed in place; with fewer days, older entries are deleted"
            ),
            "kms_key_arn": IN_PLACE,
        },
        ExistingNetwork: {
            "vpc_id": NETWORK_AGAIN,
            "subnets": IN_PLACE,
            "security_group_ids": SECURITY_GROUPS_AGAIN,
            "route_table_ids": IN_PLACE,
            "has_endpoints": NOTHING,
        },
        ExistingSubnet: {"id": NETWORK_AGAIN, "zone": NETWORK_AGAIN, "cidr": NOTHING},
        Storage: {
            "lustre": IN_PLACE,
            "additional_lustre": IN_PLACE,
            "openzfs": IN_PLACE,
            "s3_mounts": NEW_NODES,
            "scratch": BY_SCRIPTS,
        },
        Lustre: (
            _LUSTRE := {
                "mount_path": PATH_ON_NEW_NODES,
                "existing": OTHER_FILE_SYSTEM,
                "deployment_type": FILE_SYSTEM_AGAIN,
                "storage_type": FILE_SYSTEM_AGAIN,
                "capacity_gib": Effect(
                    Kind.IN_PLACE, "changed in place; the file system is slower for some hours"
                ),
                "throughput_mbps_per_tib": Effect(
                    Kind.IN_PLACE,
                    "changed in place with a pause of some minutes; not with EFA or on HDD",
                ),
                "throughput_mbps": IN_PLACE,
                "read_cache_gib": IN_PLACE,
                "drive_cache": FILE_SYSTEM_AGAIN,
                "compression": Effect(Kind.IN_PLACE, "changed in place; counts for new data"),
                "version": Effect(
                    Kind.IN_PLACE, "upgraded in place; all clients must be unmounted for it"
                ),
                "metadata_iops": IN_PLACE,
                "efa": FILE_SYSTEM_AGAIN,
                "kms_key_arn": FILE_SYSTEM_AGAIN,
                "backups": IN_PLACE,
                "maintenance_window": IN_PLACE,
                "root_squash": IN_PLACE,
                "data_repositories": IN_PLACE,
                "on_delete": GUARD,
            }
        ),
        AdditionalLustre: {**_LUSTRE, "name": FILE_SYSTEM_AGAIN},
        ExistingLustre: dict.fromkeys(("id", "mount_name"), OTHER_FILE_SYSTEM),
        Backups: dict.fromkeys(("retention_days", "start_time", "copy_tags"), IN_PLACE),
        RootSquash: dict.fromkeys(("user", "except_nids"), IN_PLACE),
        DataRepository: {
            "path": IN_PLACE,
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
                Kind.IN_PLACE, "changed in place; FSx takes at least 10 percent more at a time"
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
        Cluster: {"node_recovery": IN_PLACE, "provisioning": CLUSTER_AGAIN, "groups": IN_PLACE},
        Group: {
            "name": GROUP_AGAIN,
            "role": GROUP_AGAIN,
            "instance_type": GROUP_AGAIN,
            "instance_types": IN_PLACE,
            "count": IN_PLACE,
            "min_count": IN_PLACE,
            "partition": GROUP_AGAIN,
            "zone": GROUP_AGAIN,
            "capacity": GROUP_AGAIN,
            "training_plan_arn": GROUP_AGAIN,
            "threads_per_core": GROUP_AGAIN,
            "network_interface": GROUP_AGAIN,
            "image_id": Effect(
                Kind.LOSES, "the nodes get the image, and lose what is on their root volumes"
            ),
            "volume_gib": NEW_NODES,
            "volume_kms_key_arn": GROUP_AGAIN,
            "root_volume_kms_key_arn": GROUP_AGAIN,
            "deep_health_checks": NEW_NODES,
            "scheduled_update": IN_PLACE,
            "auto_patch": IN_PLACE,
        },
        ScheduledUpdate: dict.fromkeys(("schedule", "rollout"), ALARMS),
        AutoPatch: dict.fromkeys(("strategy", "rollout"), ALARMS),
        Rollout: dict.fromkeys(
            (
                "batch_count",
                "batch_percent",
                "rollback_batch_count",
                "rollback_batch_percent",
                "wait_seconds",
                "rollback_alarms",
            ),
            ALARMS,
        ),
        Slurm: {
            "accounting": CLUSTER_AGAIN,
            "accounting_database": OTHER_RECORDS,
            "rds": OTHER_RECORDS,
            "multi_head": CLUSTER_AGAIN,
            "config_strategy": IN_PLACE,
            **dict.fromkeys(
                ("partitions", "qos", "accounts", "fair_share", "settings"), CONTROLLER_LATER
            ),
        },
        MultiHead: dict.fromkeys(
            ("shared_directory", "database_user", "sns_topic_arn"), CLUSTER_AGAIN
        ),
        Partition: dict.fromkeys(Partition.model_fields, CONTROLLER_LATER),
        Qos: dict.fromkeys(Qos.model_fields, CONTROLLER_LATER),
        Account: dict.fromkeys(Account.model_fields, CONTROLLER_LATER),
        FairShare: dict.fromkeys(FairShare.model_fields, CONTROLLER_LATER),
        **LIFECYCLE,
        **PEOPLE,
        **RECORDS,
        **WATCHING,
    }
)
"""The effect of changing a field, by section and field."""

LESS: Mapping[tuple[type[BaseModel], str], Effect] = MappingProxyType(
    {
        (Lustre, "capacity_gib"): CANNOT_SHRINK,
        (Lustre, "metadata_iops"): Effect(
            Kind.REFUSED, "FSx refuses: metadata operations can only become more"
        ),
        (Lustre, "throughput_mbps"): Effect(
            Kind.REFUSED, "FSx refuses: the throughput of INTELLIGENT_TIERING can only become more"
        ),
        (Lustre, "version"): CANNOT_GO_BACK,
        (OpenZfs, "capacity_gib"): CANNOT_SHRINK,
        (Group, "count"): NODES_GO,
        **LESS_LIFECYCLE,
        **LESS_PEOPLE,
        **LESS_RECORDS,
        **LESS_WATCHING,
        (Sessions, "retention_days"): Effect(Kind.LOSES, "records that are older are deleted"),
    }
)
"""The effect where the new value is less than the old one and that makes a difference."""

REMOVED: Mapping[type[BaseModel], Effect] = MappingProxyType(
    {
        Group: NODES_GO,
        Lustre: (_KEPT := Effect(Kind.LOSES, "nodes lose it; the file system is kept, and costs")),
        OpenZfs: _KEPT,
        Rds: RECORDS_LEFT,
        OtherZone: Effect(Kind.IN_PLACE, "its subnet is deleted; groups in it must go first"),
        ExistingSubnet: Effect(Kind.IN_PLACE, "used no more; groups in it must go first"),
        Scratch: STAYS,
        Artefact: STAYS,
        RootSquash: Effect(
            Kind.IN_PLACE, "root stays squashed: write the user 0:0 first to turn it off"
        ),
        DataRepository: Effect(Kind.IN_PLACE, "the link to the bucket is removed; files stay"),
        Sessions: Effect(
            Kind.IN_PLACE, "people keep what they may until you delete the access stack"
        ),
        **NO_WATCHING,
    }
)
"""The effect of removing an entry of a list, or a whole section, where the field's is another."""
