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
    """A mapping in YAML: unknown keys refused, values never coerced, immutable.

    Fields declare type and limits, and a docstring below each says what it means; from these come
    the checks, the texts of the error messages and the JSON Schema for editors. What relates
    several fields is a rule. Validators are built when first used: that halves the start-up time.
    A section that may be left out is then made with `model_construct`, which needs none of its own.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class Section(StrictModel):
    """A mapping in an environment's YAML, each of whose fields has an `Effect`."""

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Refuse a field without one here, and not when a live cluster is to be changed."""
        for name, field in cls.model_fields.items():
            if not any(isinstance(each, Effect) for each in field.metadata):
                file = f"{cls.__module__.replace('.', '/')}.py"
                raise TypeError(
                    f"{cls.__name__}.{name} ({file}) has no Effect: annotate it with what a change"
                    f" does, such as {name}: Annotated[int, IN_PLACE]; see docs/contributing.md"
                )


def written(value: Any) -> Any:
    """Return what a file says of a section, without defaults, as plain data.

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
    """How a change ends, from harmless to impossible."""

    IN_PLACE = "in place"
    NEW_NODES = "new nodes only"
    LOSES = "loses something"
    REPLACES = "replaces"
    REFUSED = "refused"


class Effect(Value):
    """How a change of a field ends, and what that means, as a sentence without its full stop.

    `less` holds in its place where the new value is less than the old one, `removed` where a
    section or an entry of a list is taken out, and `in_customer_mode` where the scripts, and not
    the request, tell HyperPod about Slurm. `of_cluster` marks what holds only while there is a
    cluster: the next one begins with what is written.

    What refuses or replaces has a `source`, where somebody says so, or a `doubt`: what nobody says.
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
        """Return the schema of the field as it is; pydantic need not look what an effect may be."""
        return handler(source)


def effect_of(field: FieldInfo) -> Effect:
    """Return what is said on a field; a field without it is a mistake in this program."""
    return next(each for each in field.metadata if isinstance(each, Effect))


UPDATE_GUIDE = 'SageMaker developer guide, "Update cluster configuration"'
MIGRATION_GUIDE = 'SageMaker developer guide, "Migrating to API-driven Slurm configuration"'
REPLACEMENT = 'CloudFormation template reference, "Update requires: Replacement"'

NOTHING = Effect(Kind.IN_PLACE, "nothing on AWS changes")
IN_PLACE = Effect(Kind.IN_PLACE, "changed in place")
NEW_NODES = Effect(
    Kind.NEW_NODES,
    "changed in place; nodes that run keep what they have until they are replaced",
    of_cluster=True,
)
CLUSTER_AGAIN = Effect(
    Kind.REFUSED,
    "a cluster cannot change it: destroy it (slurmpod destroy --only cluster), then deploy; "
    "the data stay",
    of_cluster=True,
    doubt="no page of AWS's tells how a cluster would change it, nor that it refuses",
)
FILE_SYSTEM_AGAIN = Effect(
    Kind.REPLACES,
    "a new, empty file system is made, the old one is kept; nodes mount the new one when they are "
    "replaced",
    source=REPLACEMENT,
)
OTHER_FILE_SYSTEM = Effect(
    Kind.REPLACES,
    "nodes mount the other one when they are replaced; the one that they had is kept",
    source=f'{MIGRATION_GUIDE}, "Amazon FSx not mounted on nodes"',
)
PATH_ON_NEW_NODES = Effect(
    Kind.NEW_NODES,
    "nodes that run keep the old path until they are replaced: replace all of them",
    of_cluster=True,
)
CONTROLLER_LATER = Effect(
    Kind.NEW_NODES,
    "the controller keeps what it has until its lifecycle scripts run again",
    of_cluster=True,
)
GUARD = Effect(
    Kind.IN_PLACE, "changed in place; it says what happens to the data at a later deletion"
)
CANNOT_SHRINK = Effect(
    Kind.REFUSED,
    "FSx refuses: a file system cannot shrink; make a new one",
    source="FSx API reference, UpdateFileSystem, StorageCapacity",
)
BY_SCRIPTS = Effect(
    Kind.NEW_NODES,
    "counts for new nodes, and for nodes that run after `slurmpod lifecycle run`",
    of_cluster=True,
)
STAYS = Effect(
    Kind.NEW_NODES,
    "nodes that run keep what the scripts did until they are replaced",
    of_cluster=True,
)
PEOPLE_LATER = Effect(
    Kind.NEW_NODES,
    "nodes that run keep the people that they have until their lifecycle scripts run again",
    of_cluster=True,
)
