"""The files that HyperPod puts on nodes: /opt/ml/config, after hyperpod's node contract."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from embedded_aws.cluster import Cluster, ClusterNode, InstanceGroup

CONFIG_FOLDER = "/opt/ml/config"
RESOURCE_CONFIG = f"{CONFIG_FOLDER}/resource_config.json"
PROVISIONING_PARAMETERS = f"{CONFIG_FOLDER}/provisioning_parameters.json"
AWS_ENVIRONMENT = "/etc/rehearsal/aws"
"""What the image's `aws` reads before it runs the real one; HyperPod has no such file."""


def aws_environment(variables: Mapping[str, str]) -> bytes:
    """Return the file with the variables that lead AWS tools, as a shell reads it."""
    lines = [f"{name}={shlex.quote(value)}\n" for name, value in sorted(variables.items())]
    return "".join(lines).encode()


def resource_config(cluster: Cluster, controllers: Sequence[ClusterNode]) -> bytes:
    """Return resource_config.json: the cluster, its groups, and the instances there are now.

    A group without instances has `null` for them, as observed on real clusters.
    """
    primary, *secondaries = [node.private_ip for node in controllers]
    document = {
        "ClusterConfig": {
            "ClusterArn": cluster.arn,
            "ClusterName": cluster.name,
            "ClusterType": "Slurm",
            "SlurmConfig": {
                "PrimaryControllerIp": primary,
                "SecondaryControllerIps": secondaries,
            },
        },
        "InstanceGroups": [_group(group, cluster.members(group.name)) for group in cluster.groups],
    }
    return json.dumps(document, indent=2).encode()


def _group(group: InstanceGroup, members: Sequence[ClusterNode]) -> dict[str, Any]:
    instances = [
        {
            "InstanceName": f"{group.name}-{number}",
            "AgentIpAddress": node.private_ip,
            "CustomerIpAddress": node.private_ip,
            "InstanceId": node.instance_id,
        }
        for number, node in enumerate(members, start=1)
    ]
    return {
        "Name": group.name,
        "InstanceType": group.instance_type,
        "Instances": instances or None,
    }
