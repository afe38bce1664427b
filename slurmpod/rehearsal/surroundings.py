"""What an environment names and does not make: put into the embedded AWS before it is deployed.

In an account these things are there: a VPC with its subnets, security groups and route tables, the
buckets with the data, keys, secrets. They get the very ids that the environment names. Several
environments may name the same ones: what is there already stays as it is.
"""

from __future__ import annotations

import json
import re
import secrets
from contextlib import contextmanager
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Any
from unittest.mock import patch
from urllib.parse import urlsplit

from botocore.exceptions import ClientError

from slurmpod.model.names import is_zone_id
from slurmpod.rehearsal.own_identity import make_identity
from slurmpod.rehearsal.platform.provisioning import SharedDatabase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from slurmpod.model.lustre import ExistingLustre
    from slurmpod.model.network import ExistingNetwork, ExistingSubnet
    from slurmpod.rehearsal.cloud.clients import Clients
    from slurmpod.resolve import Resolved

UNSTATED_RANGE = IPv4Network("10.0.0.0/16")
"""Where subnets lie whose size the environment does not state."""

UNSTATED_PREFIX = 20

KEY_ARN = re.compile(r"arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/[a-z0-9-]+")
PUBLISHERS = ["budgets.amazonaws.com", "cloudwatch.amazonaws.com", "events.amazonaws.com"]
DATABASE_USER = "admin"
FILE_SYSTEMS = "slurmpod.rehearsal.cloud.fsx.file_systems"


def make_surroundings(aws: Clients, resolved: Resolved) -> None:
    """Make the user's own network, keys, buckets, file systems and secret."""
    if resolved.network.existing:
        _make_network(aws, resolved.network.existing)
    for key in sorted(set(KEY_ARN.findall(resolved.environment.model_dump_json()))):
        _make_key(aws, key)
    for bucket in _buckets(resolved):
        _make_bucket(aws, bucket)
    make_identity(aws, resolved)
    for lustre in resolved.lustre:
        if lustre.settings.existing:
            _make_lustre(aws, lustre.settings.existing, _place(aws, resolved))
    if resolved.openzfs and resolved.openzfs.settings.existing:
        _make_openzfs(aws, resolved.openzfs.settings.existing.id, _place(aws, resolved))
    if database := own_database(resolved):
        _make_secret(aws, database.secret_arn, database.user)


def own_database(resolved: Resolved) -> SharedDatabase | None:
    """Return the user's own server for job records, if the environment names one."""
    database, multi_head = resolved.slurm.accounting_database, resolved.slurm.multi_head
    if database is None:
        return None
    user = multi_head.database_user if multi_head else DATABASE_USER
    return SharedDatabase(database.endpoint, database.secret_arn, user, database.port)


def _make_network(aws: Clients, existing: ExistingNetwork) -> None:
    ranges = _ranges(existing)
    _make_vpc(aws, existing.vpc_id, _blocks(ranges))
    for subnet, cidr in zip(existing.subnets, ranges, strict=True):
        _make_subnet(aws, existing.vpc_id, subnet, cidr)
    for group_id in existing.security_group_ids:
        _make_security_group(aws, existing.vpc_id, group_id)
    for table_id in existing.route_table_ids:
        if not _is_there(aws.ec2.describe_route_tables, RouteTableIds=[table_id]):
            with _next("moto.ec2.models.route_tables.random_route_table_id", table_id):
                aws.ec2.create_route_table(VpcId=existing.vpc_id)


def _make_vpc(aws: Clients, vpc_id: str, blocks: Sequence[IPv4Network]) -> None:
    if not _is_there(aws.ec2.describe_vpcs, VpcIds=[vpc_id]):
        with _next("moto.ec2.models.vpcs.random_vpc_id", vpc_id):
            aws.ec2.create_vpc(CidrBlock=str(blocks[0]))
    (vpc,) = aws.ec2.describe_vpcs(VpcIds=[vpc_id])["Vpcs"]
    present = {each["CidrBlock"] for each in vpc["CidrBlockAssociationSet"]}
    for block in map(str, blocks):
        if block not in present:
            aws.ec2.associate_vpc_cidr_block(VpcId=vpc_id, CidrBlock=block)


def _make_subnet(aws: Clients, vpc_id: str, subnet: ExistingSubnet, cidr: IPv4Network) -> None:
    if _is_there(aws.ec2.describe_subnets, SubnetIds=[subnet.id]):
        return
    zone = {"AvailabilityZoneId" if is_zone_id(subnet.zone) else "AvailabilityZone": subnet.zone}
    with _next("moto.ec2.models.subnets.random_subnet_id", subnet.id):
        aws.service("ec2").create_subnet(VpcId=vpc_id, CidrBlock=str(cidr), **zone)


def _make_security_group(aws: Clients, vpc_id: str, group_id: str) -> None:
    """Make a group whose members reach each other, as HyperPod wants it."""
    ec2 = aws.service("ec2")
    if _is_there(ec2.describe_security_groups, GroupIds=[group_id]):
        return
    with _next("moto.ec2.models.security_groups.random_security_group_id", group_id):
        ec2.create_security_group(GroupName=group_id, Description="nodes", VpcId=vpc_id)
    everything = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group_id}]}
    ec2.authorize_security_group_ingress(GroupId=group_id, IpPermissions=[everything])
    ec2.authorize_security_group_egress(GroupId=group_id, IpPermissions=[everything])


def _make_key(aws: Clients, arn: str) -> None:
    """Make a key that the account and the services may use that log and tell."""
    kms = aws.service("kms")
    if _is_there(kms.describe_key, KeyId=arn):
        return
    logs = f"logs.{aws.region}.{aws.dns_suffix}"
    root = f"arn:{aws.partition}:iam::{aws.account}:root"
    statements = [
        {"Effect": "Allow", "Principal": principal, "Action": "kms:*", "Resource": "*"}
        for principal in ({"AWS": root}, {"Service": logs}, {"Service": PUBLISHERS})
    ]
    policy = {"Version": "2012-10-17", "Statement": statements}
    with _next("moto.kms.models.generate_key_id", arn.rpartition("/")[2]):
        kms.create_key(Policy=json.dumps(policy))


def _make_bucket(aws: Clients, name: str) -> None:
    if _is_there(aws.s3.head_bucket, Bucket=name):
        return
    home: Any = {"CreateBucketConfiguration": {"LocationConstraint": aws.region}}
    aws.s3.create_bucket(Bucket=name, **({} if aws.region == "us-east-1" else home))


def _make_lustre(aws: Clients, existing: ExistingLustre, place: Mapping[str, Any]) -> None:
    if _is_there(aws.fsx.describe_file_systems, FileSystemIds=[existing.id]):
        return
    new_id = _next(f"{FILE_SYSTEMS}.new_id", existing.id)
    with new_id, _next(f"{FILE_SYSTEMS}.new_mount_name", existing.mount_name):
        aws.fsx.create_file_system(
            FileSystemType="LUSTRE",
            StorageCapacity=1200,
            **place,
            LustreConfiguration={"DeploymentType": "SCRATCH_2"},
        )


def _make_openzfs(aws: Clients, file_system_id: str, place: Mapping[str, Any]) -> None:
    if _is_there(aws.fsx.describe_file_systems, FileSystemIds=[file_system_id]):
        return
    with _next(f"{FILE_SYSTEMS}.new_id", file_system_id):
        aws.fsx.create_file_system(
            FileSystemType="OPENZFS",
            StorageCapacity=64,
            **place,
            OpenZFSConfiguration={"DeploymentType": "SINGLE_AZ_1", "ThroughputCapacity": 64},
        )


def _place(aws: Clients, resolved: Resolved) -> Mapping[str, Any]:
    """Return subnet and security groups of the user's own network, or the account's default one."""
    existing = resolved.network.existing
    if existing and existing.security_group_ids:
        groups = list(existing.security_group_ids)
        return {"SubnetIds": [existing.subnets[0].id], "SecurityGroupIds": groups}
    wanted = [existing.subnets[0].id] if existing else []
    subnet = aws.ec2.describe_subnets(SubnetIds=wanted)["Subnets"][0]
    group_id = f"sg-{secrets.token_hex(4)}"
    _make_security_group(aws, subnet["VpcId"], group_id)
    return {"SubnetIds": [subnet["SubnetId"]], "SecurityGroupIds": [group_id]}


def _make_secret(aws: Clients, arn: str, user: str) -> None:
    """Make the secret of a database user, whose password nobody has to know."""
    manager = aws.service("secretsmanager")
    if _is_there(manager.describe_secret, SecretId=arn):
        return
    content = {"username": user, "password": secrets.token_urlsafe()}
    with _next("moto.secretsmanager.models.SecretsManagerSecretIdentifier.generate", arn):
        name = arn.rpartition(":")[2].rpartition("-")[0]
        manager.create_secret(Name=name, SecretString=json.dumps(content))


def _ranges(existing: ExistingNetwork) -> Sequence[IPv4Network]:
    unstated = UNSTATED_RANGE.subnets(new_prefix=UNSTATED_PREFIX)
    stated = [subnet.cidr for subnet in existing.subnets if subnet.cidr]
    free = (cidr for cidr in unstated if not any(cidr.overlaps(other) for other in stated))
    return [subnet.cidr or next(free) for subnet in existing.subnets]


def _blocks(ranges: Sequence[IPv4Network]) -> Sequence[IPv4Network]:
    """Return the blocks of a VPC that has room for the ranges; AWS has none larger than /16."""
    return sorted({cidr.supernet(new_prefix=16) for cidr in ranges})


def _buckets(resolved: Resolved) -> Sequence[str]:
    mounted = [mount.bucket for mount in resolved.s3_mounts]
    used = [data.bucket for data in resolved.identity.data_buckets]
    linked = [
        urlsplit(repository.s3_uri).netloc
        for lustre in resolved.lustre
        for repository in lustre.settings.data_repositories
    ]
    return sorted({*mounted, *used, *linked, *resolved.network.s3_buckets})


def _is_there(describe: Callable[..., Any], **which: Any) -> bool:
    try:
        describe(**which)
    except ClientError:
        return False
    return True


@contextmanager
def _next(function: str, wanted: str) -> Iterator[None]:
    """Let what makes up ids and names take the wanted one."""
    with patch(function, lambda *_, **__: wanted):
        yield
