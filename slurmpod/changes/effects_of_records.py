"""What changing fields does, about the database for job records: see `effects`.

Sources: the "Update requires" lines of AWS::RDS::DBInstance in the CloudFormation reference;
ModifyDBInstance in the RDS API reference, whose changes slurmpod applies at once.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from slurmpod.changes.effect import CONTROLLER_LATER, GUARD, IN_PLACE, Effect, Kind
from slurmpod.model.rds import Rds
from slurmpod.model.slurm import AccountingDatabase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

OTHER_RECORDS = Effect(
    Kind.LOSES,
    "the cluster starts with the records of the other database, which the controller uses when its "
    "lifecycle scripts run again; the old ones stay where they are",
)
RECORDS_LEFT = Effect(
    Kind.LOSES,
    "job records go elsewhere from now on; the server stays, and costs, until you delete its stack",
)
WITH_A_PAUSE = Effect(
    Kind.IN_PLACE,
    "changed in place with a pause of some minutes, for which slurmctld keeps the records of jobs",
)
SERVER_AGAIN = Effect(
    Kind.REFUSED,
    "RDS cannot change it, and CloudFormation makes no second server of the same name: restore a "
    "snapshot with the other key, and describe that server under accounting_database",
)

RECORDS: Mapping[type[BaseModel], Mapping[str, Effect]] = MappingProxyType(
    {
        AccountingDatabase: {
            **dict.fromkeys(("endpoint", "port", "name"), OTHER_RECORDS),
            "secret_arn": CONTROLLER_LATER,
            "secret_kms_key_arn": IN_PLACE,
        },
        Rds: {
            "instance_class": WITH_A_PAUSE,
            "engine_version": Effect(
                Kind.IN_PLACE,
                "upgraded in place with a pause of some minutes; there is no way back but a "
                "snapshot",
            ),
            "storage_gib": Effect(
                Kind.IN_PLACE, "changed in place; RDS takes the next change after six hours"
            ),
            "max_storage_gib": IN_PLACE,
            "multi_az": Effect(
                Kind.IN_PLACE, "changed in place; the server is slower while it is copied"
            ),
            "backup_retention_days": IN_PLACE,
            "backup_window": IN_PLACE,
            "maintenance_window": IN_PLACE,
            "kms_key_arn": SERVER_AGAIN,
            "on_delete": GUARD,
        },
    }
)

LESS_RECORDS: Mapping[tuple[type[BaseModel], str], Effect] = MappingProxyType(
    {
        (Rds, "engine_version"): Effect(
            Kind.REFUSED, "RDS refuses: an older version cannot be installed"
        ),
        (Rds, "storage_gib"): Effect(
            Kind.REFUSED,
            "RDS refuses: storage cannot shrink; nor to less than what RDS has let it grow to",
        ),
        (Rds, "backup_retention_days"): Effect(
            Kind.LOSES, "older backups are deleted, and what was before can no longer be restored"
        ),
    }
)
"""The effect where the new value is less than the old one."""
