"""The common base of all sections of an environment, and the effects of changing a field.

An effect is a part of the field's type. Sources: the "Update requires" lines of the CloudFormation
reference (AWS::SageMaker::Cluster, AWS::EC2, AWS::FSx, AWS::RDS::DBInstance); UpdateCluster in the
SageMaker API reference and the HyperPod developer guide; UpdateFileSystem in the FSx API reference;
ModifyDBInstance in the RDS API reference, whose changes slurmpod applies at once.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema

from slurmpod.value import Value


class StrictModel(BaseModel):
    """A mapping in YAML: immutable, without unknown keys, and never coercing values.

    Fields declare type and limits, and a docstring below each describes it; the checks, the error
    messages and the JSON Schema for editors are derived from these. Constraints across fields are
    rules. Validators are built when first used: that halves the start-up time. An optional section
    is then made with `model_construct`, which needs no validator.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class Section(StrictModel):
    """A mapping in an environment's YAML, each of whose fields has an `Effect`."""

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Refuse a field without an effect at import, not when a live cluster changes."""
        for name, field in cls.model_fields.items():
            if not any(isinstance(each, Effect) for each in field.metadata):
                file = f"{cls.__module__.replace('.', '/')}.py"
                raise TypeError(
                    f"{cls.__name__}.{name} ({file}) has no Effect: annotate it with the effect of"
                    f" a change, such as {name}: Annotated[int, IN_PLACE]; see docs/contributing.md"
                )


def written(value: Any) -> Any:
    """Return the values that a file sets in a section, without defaults, as plain data.

    That is what `model_dump` returns without what is unset. It first builds serializers of all
    sections, though, for which a brief command has no time.
    """
    if isinstance(value, Section):
        said = value.model_fields_set
        return {name: written(each) for name, each in vars(value).items() if name in said}
    if isinstance(value, dict):
        return {name: written(each) for name, each in value.items()}
    if isinstance(value, tuple):
        return list(map(written, value))
    return value


class Kind(StrEnum):
    """Outcome of a change, from harmless to impossible."""

    IN_PLACE = "in place"
    NEW_NODES = "new nodes only"
    LOSES = "loses something"
    REPLACES = "replaces"
    REFUSED = "refused"


class Effect(Value):
    """Outcome of changing a field, and its meaning as a sentence without a full stop.

    `less` replaces it if the new value is smaller, `removed` if a section or an entry of a list is
    removed, and `in_customer_mode` if the scripts, and not the request, describe Slurm to HyperPod.
    `of_cluster` marks effects on an existing cluster only: the next one starts with the new value.

    A refusal or replacement has a `source` if it is documented, or else a `doubt` that names what
    is not documented.
    """

    kind: Kind
    meaning: str
    less: Effect | None = None
    removed: Effect | None = None
    in_customer_mode: Effect | None = None
    of_cluster: bool = False
    source: str = ""
    doubt: str = ""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return the schema of the field unchanged; pydantic ignores the effect."""
        return handler(source)


def effect_of(field: FieldInfo) -> Effect:
    """Return the effect declared on a field; a missing one is a bug in slurmpod."""
    return next(each for each in field.metadata if isinstance(each, Effect))


UPDATE_GUIDE = 'SageMaker developer guide, "Update cluster configuration"'
MIGRATION_GUIDE = 'SageMaker developer guide, "Migrating to API-driven Slurm configuration"'
REPLACEMENT = 'CloudFormation template reference, "Update requires: Replacement"'

NOTHING = Effect(Kind.IN_PLACE, "nothing on AWS changes")
IN_PLACE = Effect(Kind.IN_PLACE, "changed in place")
NEW_NODES = Effect(
    Kind.NEW_NODES,
    "changed in place; running nodes keep the old setting until they are replaced",
    of_cluster=True,
)
CLUSTER_AGAIN = Effect(
    Kind.REFUSED,
    "a cluster cannot change it: destroy it (slurmpod destroy --only cluster), then deploy; "
    "the data stay",
    of_cluster=True,
    doubt="AWS documents neither how a cluster would change it nor that it refuses",
)
FILE_SYSTEM_AGAIN = Effect(
    Kind.REPLACES,
    "a new, empty file system is created and the old one is kept; nodes mount the new one when "
    "they are replaced",
    source=REPLACEMENT,
)
OTHER_FILE_SYSTEM = Effect(
    Kind.REPLACES,
    "nodes mount the other file system when they are replaced; the old one is kept",
    source=f'{MIGRATION_GUIDE}, "Amazon FSx not mounted on nodes"',
)
PATH_ON_NEW_NODES = Effect(
    Kind.NEW_NODES,
    "running nodes keep the old path until they are replaced: replace all of them",
    of_cluster=True,
)
CONTROLLER_LATER = Effect(
    Kind.NEW_NODES,
    "the controller keeps the old setting until its lifecycle scripts run again",
    of_cluster=True,
)
GUARD = Effect(
    Kind.IN_PLACE, "changed in place; it decides what happens to the data at a later deletion"
)
CANNOT_SHRINK = Effect(
    Kind.REFUSED,
    "FSx refuses: a file system cannot shrink; create a new one",
    source="FSx API reference, UpdateFileSystem, StorageCapacity",
)
BY_SCRIPTS = Effect(
    Kind.NEW_NODES,
    "applies to new nodes, and to running ones after `slurmpod lifecycle run`",
    of_cluster=True,
)
STAYS = Effect(
    Kind.NEW_NODES,
    "running nodes keep the results of the scripts until they are replaced",
    of_cluster=True,
)
PEOPLE_LATER = Effect(
    Kind.NEW_NODES,
    "running nodes keep their users until their lifecycle scripts run again",
    of_cluster=True,
)
