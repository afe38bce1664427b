"""Requests for clusters, as tests write them."""

from __future__ import annotations

from typing import Any

ROLE = "arn:aws:iam::111122223333:role/node"
LIFECYCLE = {"SourceS3Uri": "s3://sagemaker-scripts/v1", "OnCreate": "on_create.sh"}
CONTROLLER = {"NodeType": "Controller"}
COMPUTE = {"NodeType": "Compute", "PartitionNames": ["cpu"]}
VPC = {"SecurityGroupIds": ["sg-12345678"], "Subnets": ["subnet-12345678"]}
LUSTRE = {"DnsName": "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com", "MountName": "abcdefgh"}
OPENZFS = {"DnsName": "fs-0123456789abcdef1.fsx.us-west-2.amazonaws.com"}
DATABASE = {
    "Endpoint": "db.abc.us-west-2.rds.amazonaws.com",
    "SecretArn": "arn:aws:secretsmanager:us-west-2:111122223333:secret:db-AbCdEf",
}


def group(name: str, count: int = 1, **more: object) -> dict[str, Any]:
    """Return a group with OnCreate scripts; a value of None leaves that member out."""
    given = {
        "InstanceGroupName": name,
        "InstanceType": "ml.c5.large",
        "InstanceCount": count,
        "ExecutionRole": ROLE,
        "LifeCycleConfig": dict(LIFECYCLE),
        **more,
    }
    return {member: value for member, value in given.items() if value is not None}


def request(*groups: dict[str, Any], **more: object) -> dict[str, Any]:
    """Return a CreateCluster request for these groups, or for a controller and two workers."""
    return {
        "ClusterName": "c1",
        "InstanceGroups": list(groups) or [group("controller"), group("workers", 2)],
        "VpcConfig": VPC,
        **more,
    }


def placed(*more: dict[str, Any], **settings: object) -> dict[str, Any]:
    """Return a request with a controller and workers whose places in Slurm the API says."""
    head, workers = group("head", SlurmConfig=CONTROLLER), group("workers", SlurmConfig=COMPUTE)
    return request(head, workers, *more, **settings)


def stored(*configs: dict[str, Any]) -> dict[str, Any]:
    """Return a request whose workers have these storage configurations."""
    asked = placed()
    asked["InstanceGroups"][1]["InstanceStorageConfigs"] = list(configs)
    return asked
