"""What changing fields does, about people and roles: see `effects`."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from slurmpod.changes.effect import IN_PLACE, NOTHING, Effect, Kind
from slurmpod.changes.effects_of_lifecycle import BY_SCRIPTS, STAYS
from slurmpod.model.access import Access, PosixGroup, Sessions, User
from slurmpod.model.directory import Directory
from slurmpod.model.identity import DataBucket, ExistingRoles, Identity, PermissionsBoundary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

_LATER = Effect(
    Kind.NEW_NODES,
    "nodes that run keep the people that they have until their lifecycle scripts run again",
)
_OTHER_HOMES = Effect(
    Kind.NEW_NODES, "empty homes are made in the other folder; the files stay where they are"
)
_OTHER_GROUP_ID = Effect(
    Kind.LOSES,
    "files of the old id belong to no group until they are given over; nodes that run refuse the "
    "new one",
)
_OTHER_USER_ID = Effect(
    Kind.REFUSED, "files and the home keep the old id, and nodes refuse to give them to another one"
)

_ROLES = Effect(Kind.IN_PLACE, "roles are changed in place; it holds for nodes that run, too")
_NEXT_SESSIONS = Effect(Kind.IN_PLACE, "changed in place, for sessions that begin from now on")

PEOPLE: Mapping[type[BaseModel], Mapping[str, Effect]] = MappingProxyType(
    {
        Access: {
            **dict.fromkeys(("groups", "users", "users_file", "directory"), _LATER),
            "home_directory": _OTHER_HOMES,
            "sessions": IN_PLACE,
            "user_groups": IN_PLACE,
            "ssh_between_nodes": BY_SCRIPTS,
            "ssh_needs_job": BY_SCRIPTS,
        },
        PosixGroup: {
            "name": _LATER,
            "gid": _OTHER_GROUP_ID,
        },
        User: {
            **dict.fromkeys(User.model_fields, _LATER),
            "uid": _OTHER_USER_ID,
        },
        Directory: {
            **dict.fromkeys(Directory.model_fields, _LATER),
            "bind_secret_kms_key_arn": IN_PLACE,
        },
        Sessions: {
            **dict.fromkeys(Sessions.model_fields, _NEXT_SESSIONS),
            "record": Effect(
                Kind.IN_PLACE,
                "from now on records go to the new place; those of before are kept, so that a "
                "change back needs 'npx cdk deploy --all --import-existing-resources'",
            ),
            "retention_days": IN_PLACE,
            "kms_key_arn": Effect(
                Kind.IN_PLACE, "from now on the new key is used; records of before need the old one"
            ),
        },
        Identity: {
            **dict.fromkeys(Identity.model_fields, _ROLES),
            "roles": Effect(
                Kind.IN_PLACE,
                "groups get new roles; until the cluster has taken them over, minutes after the "
                "old ones are gone, nodes that run cannot call AWS",
            ),
            "existing": Effect(
                Kind.IN_PLACE,
                "groups get these roles; those that slurmpod made stay until their stack is "
                "deleted",
            ),
        },
        DataBucket: dict.fromkeys(DataBucket.model_fields, _ROLES),
        ExistingRoles: {
            **dict.fromkeys(ExistingRoles.model_fields, IN_PLACE),
            "policy_files": NOTHING,
        },
        PermissionsBoundary: {
            "policy_arn": _ROLES,
            "policy_file": NOTHING,
        },
    }
)

NO_PEOPLE: Mapping[type[BaseModel], Effect] = MappingProxyType(
    {
        User: Effect(
            Kind.NEW_NODES,
            "locked out of nodes that run when their lifecycle scripts run again; files stay",
        ),
    }
)

LESS_PEOPLE: Mapping[tuple[type[BaseModel], str], Effect] = MappingProxyType(
    dict.fromkeys(((Access, key) for key in ("ssh_between_nodes", "ssh_needs_job")), STAYS)
)
