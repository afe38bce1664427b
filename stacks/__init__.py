"""The AWS side of an environment, and its constructs for other CDK apps (docs/library.md)."""

from slurmpod.environment.cluster import Group, Role
from slurmpod.environment.lustre import Lustre
from slurmpod.environment.storage import OpenZfs
from slurmpod.request import ClusterProperties, InstanceGroup
from slurmpod_cdk.cluster.slurm_cluster import SlurmCluster
from slurmpod_cdk.given_properties import WrongProperties
from slurmpod_cdk.hyperpod_environment import HyperPodEnvironment, UnusableEnvironment
from slurmpod_cdk.identity.node_roles import NodeRoles
from slurmpod_cdk.lifecycle.bundle import LifecycleBundle
from slurmpod_cdk.network.node_security_group import NodeSecurityGroup
from slurmpod_cdk.storage.lustre_file_system import LustreFileSystem
from slurmpod_cdk.storage.openzfs_file_system import OpenZfsFileSystem

__all__ = [
    "ClusterProperties",
    "Group",
    "HyperPodEnvironment",
    "InstanceGroup",
    "LifecycleBundle",
    "Lustre",
    "LustreFileSystem",
    "NodeRoles",
    "NodeSecurityGroup",
    "OpenZfs",
    "OpenZfsFileSystem",
    "Role",
    "SlurmCluster",
    "UnusableEnvironment",
    "WrongProperties",
]
