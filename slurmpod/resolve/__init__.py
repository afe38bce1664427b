"""Reading -> Resolved: all names, address ranges, counts and paths, computed once.

Pure: the same environment gives the same result, and nothing here reads a clock, the network or
another file than the catalog. It also resolves environments that rules will refuse (an unknown
instance type, a subnet outside its VPC), so that all problems can be reported together.
"""

from slurmpod.resolve.environment import bucket_name, resolve
from slurmpod.resolve.resolved import (
    EcrImage,
    KnownGroup,
    KnownUser,
    NewDatabase,
    Resolved,
    ResolvedAccess,
    ResolvedDatabase,
    ResolvedEndpoint,
    ResolvedGroup,
    ResolvedLifecycle,
    ResolvedLustre,
    ResolvedNotebook,
    ResolvedOpenZfs,
)
from slurmpod.resolve.resolved_network import ResolvedNetwork, Subnet
from slurmpod.resolve.sessions import (
    SessionNames,
    log_group_of_sessions,
    session_names,
    session_target,
)
from slurmpod.resolve.stacks import StackNames

__all__ = [
    "EcrImage",
    "KnownGroup",
    "KnownUser",
    "NewDatabase",
    "Resolved",
    "ResolvedAccess",
    "ResolvedDatabase",
    "ResolvedEndpoint",
    "ResolvedGroup",
    "ResolvedLifecycle",
    "ResolvedLustre",
    "ResolvedNetwork",
    "ResolvedNotebook",
    "ResolvedOpenZfs",
    "SessionNames",
    "StackNames",
    "Subnet",
    "bucket_name",
    "log_group_of_sessions",
    "resolve",
    "session_names",
    "session_target",
]
