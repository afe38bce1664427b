"""How a change of an environment can end: the kinds, and the effects that several fields have."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """How a change ends, from harmless to impossible."""

    IN_PLACE = "in place"
    NEW_NODES = "new nodes only"
    LOSES = "loses something"
    REPLACES = "replaces"
    REFUSED = "refused"


@dataclass(frozen=True)
class Effect:
    """How a change ends, and what that means, as a sentence without its full stop."""

    kind: Kind
    meaning: str


NOTHING = Effect(Kind.IN_PLACE, "nothing on AWS changes")
IN_PLACE = Effect(Kind.IN_PLACE, "changed in place")
ALARMS = Effect(Kind.IN_PLACE, "changed in place; counts from the next update on")
NEW_NODES = Effect(
    Kind.NEW_NODES,
    "changed in place; nodes that run keep what they have until they are replaced",
)
NEW_ENVIRONMENT = Effect(
    Kind.REPLACES, "a second environment is made beside this one, which stays until it is deleted"
)
CLUSTER_AGAIN = Effect(
    Kind.REFUSED,
    "a cluster cannot change it: destroy its stack with cdk destroy, then deploy; the data stay",
)
GROUP_AGAIN = Effect(
    Kind.REFUSED,
    "a group cannot change it: add a group with another name, move the jobs, remove this group; "
    "for the controller, destroy the stack of the cluster with cdk destroy, then deploy",
)
NETWORK_AGAIN = Effect(
    Kind.REFUSED,
    "subnets in use cannot be replaced: destroy the stack of the cluster with cdk destroy and make "
    "new file systems first",
)
SECURITY_GROUPS_AGAIN = Effect(
    Kind.REFUSED,
    "a cluster cannot change them, and file systems that slurmpod made would be replaced by empty "
    "ones: change the rules of the groups instead",
)
FILE_SYSTEM_AGAIN = Effect(
    Kind.REPLACES,
    "a new, empty file system is made, the old one is kept; nodes mount the new one when they are "
    "replaced",
)
OTHER_FILE_SYSTEM = Effect(
    Kind.REPLACES, "nodes mount the other one when they are replaced; the one that they had is kept"
)
FILE_SYSTEM_LOST = Effect(
    Kind.LOSES, "a new, empty file system is made; the old one and its data go"
)
NO_METADATA_LATER = Effect(
    Kind.REFUSED,
    "FSx refuses: this version comes with a metadata configuration, which cannot be added later",
)
THROUGHPUT_STAYS = Effect(
    Kind.REFUSED, "FSx refuses: with EFA, and on HDD, it stays as it was at the creation"
)
SMALL_CAPACITY_STEP = Effect(
    Kind.REFUSED, "FSx refuses: it takes at least 10 percent more at a time"
)
SMALL_CACHE_STEP = Effect(
    Kind.REFUSED, "FSx refuses: a read cache becomes larger or smaller by at least 10 percent"
)
LINK_AGAIN = Effect(
    Kind.REFUSED, "the new link would overlap the old: remove the entry, deploy, add it again"
)
PATH_ON_NEW_NODES = Effect(
    Kind.NEW_NODES, "nodes that run keep the old path until they are replaced: replace all of them"
)
CONTROLLER_LATER = Effect(
    Kind.NEW_NODES, "the controller keeps what it has until its lifecycle scripts run again"
)
GUARD = Effect(Kind.IN_PLACE, "changed in place: what happens to the data at a later deletion")
CANNOT_SHRINK = Effect(Kind.REFUSED, "FSx refuses: a file system cannot shrink; make a new one")
CANNOT_GO_BACK = Effect(Kind.REFUSED, "FSx refuses: an older version cannot be installed")
NODES_GO = Effect(
    Kind.LOSES, "nodes are deleted with what is on their own volumes; jobs on them end"
)
