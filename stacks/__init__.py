"""The AWS side of an environment, and its parts for CDK apps of other people (docs/library.md)."""

from slurmpod.environment.cluster import Group, Role
from slurmpod.environment.lustre import Lustre
from slurmpod.environment.storage import OpenZfs
from slurmpod.request import ClusterProperties, InstanceGroup
from slurmpod_cdk.hyperpod_environment import HyperPodEnvironment, UnusableEnvironment
from slurmpod_cdk.parts.lifecycle_bundle import LifecycleBundle
from slurmpod_cdk.parts.lustre_file_system import LustreFileSystem
from slurmpod_cdk.parts.node_roles import NodeRoles
from slurmpod_cdk.parts.node_security_group import NodeSecurityGroup
from slurmpod_cdk.parts.openzfs_file_system import OpenZfsFileSystem
from slurmpod_cdk.parts.slurm_cluster import SlurmCluster
from slurmpod_cdk.parts.wrong_properties import WrongProperties

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
