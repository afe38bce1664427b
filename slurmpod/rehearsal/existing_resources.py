"""Resources that an environment refers to but does not create, added to the embedded AWS first.

In an account they already exist: a VPC with its subnets, security groups and route tables, data
buckets, keys, secrets, images, topics, roles and policies. They get exactly the ids that the
environment names. Several environments may name the same ones; those that already exist stay
unchanged.

If the environment names copies of roles, policies or boundaries as files, these are used. Otherwise
roles get what nodes need, the boundary limits nothing, and other policies allow next to nothing.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from ipaddress import IPv4Network
from typing import Any
from urllib.parse import urlsplit

from botocore.exceptions import ClientError

from embedded_aws.clients import Clients
from embedded_aws.existing import Existing
from slurmpod.environment.names import account_of_arn
from slurmpod.environment.network import ExistingNetwork
from slurmpod.permissions import document, expected_scope, grants, node_roles
from slurmpod.preflight.names import images, topics
from slurmpod.reading.policy_files import PolicyDocument
from slurmpod.rehearsal.hyperpod.provisioning import SharedDatabase
from slurmpod.resolve import Resolved
from slurmpod.resolve.network import services_of_a_closed_network

UNSTATED_RANGE = IPv4Network("10.0.0.0/16")
"""The range for subnets whose size the environment does not state."""

UNSTATED_PREFIX = 20

KEY_ARN = re.compile(r"arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/[a-z0-9-]+")
PUBLISHERS = ["budgets.amazonaws.com", "cloudwatch.amazonaws.com", "events.amazonaws.com"]
DATABASE_USER = "admin"

TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"Service": "sagemaker.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }
    ],
}


def make_existing_resources(aws: Clients, resolved: Resolved) -> None:
    """Create the user's own network, keys, buckets, file systems and secret."""
    own = Existing(aws)
    if resolved.network.existing:
        services = services_of_a_closed_network(serves_models=resolved.endpoint is not None)
        _make_network(own, resolved.network.existing, services)
    for key in sorted(set(KEY_ARN.findall(resolved.environment.model_dump_json()))):
        own.key(key, _key_policy(aws))
    for bucket in _buckets(resolved):
        own.bucket(bucket)
    for topic in topics(resolved):
        own.topic(topic)
    for image in images(resolved):
        own.image(image)
    make_identity(aws, resolved)
    for group in resolved.groups:
        if plan := group.settings.training_plan_arn:
            own.training_plan(plan, instance_type=group.instance_type, zone=group.zone)
    _make_file_systems(own, aws, resolved)
    _make_secrets(own, resolved)
    if endpoint := resolved.endpoint:
        own.model(endpoint.model_bucket, endpoint.model_key)
        own.container_image(endpoint.image.repository, endpoint.image.version)


def own_database(resolved: Resolved) -> SharedDatabase | None:
    """Return the user's own job accounting database server, if the environment names one."""
    database, multi_head = resolved.slurm.accounting_database, resolved.slurm.multi_head
    if database is None:
        return None
    user = multi_head.database_user if multi_head else DATABASE_USER
    return SharedDatabase(database.endpoint, database.secret_arn, user, database.port)


def _make_file_systems(own: Existing, aws: Clients, resolved: Resolved) -> None:
    for lustre in resolved.lustre:
        if existing := lustre.settings.existing:
            own.lustre(existing.id, existing.mount_name, _place(aws, own, resolved))
    if resolved.openzfs and resolved.openzfs.settings.existing:
        own.openzfs(resolved.openzfs.settings.existing.id, _place(aws, own, resolved))


def _make_secrets(own: Existing, resolved: Resolved) -> None:
    """Create secrets whose passwords are never used."""
    if database := own_database(resolved):
        password = secrets.token_urlsafe()
        own.secret(database.secret_arn, {"username": database.user, "password": password})
    directory = resolved.access.directory
    if directory and directory.bind_secret_arn:
        own.secret(directory.bind_secret_arn, {"password": secrets.token_urlsafe()})
    for each in resolved.identity.job_secrets:
        own.secret(each.secret_arn, {"rehearsed": secrets.token_urlsafe()})


def _make_network(own: Existing, network: ExistingNetwork, services: Sequence[str]) -> None:
    ranges = _ranges(network)
    own.vpc(network.vpc_id, [str(block) for block in _blocks(ranges)])
    for subnet, cidr in zip(network.subnets, ranges, strict=True):
        own.subnet(subnet.id, network.vpc_id, cidr=str(cidr), zone=subnet.zone)
    for group_id in network.security_group_ids:
        own.security_group(group_id, network.vpc_id)
    for table_id in network.route_table_ids:
        own.route_table(table_id, network.vpc_id)
    if network.has_endpoints:
        own.endpoints(network.vpc_id, (*services, "s3"))


def _key_policy(aws: Clients) -> Mapping[str, Any]:
    """Return a key policy for the account, CloudWatch Logs and the services that publish alerts."""
    logs = f"logs.{aws.region}.{aws.dns_suffix}"
    root = f"arn:{aws.partition}:iam::{aws.account}:root"
    statements = [
        {"Effect": "Allow", "Principal": principal, "Action": "kms:*", "Resource": "*"}
        for principal in ({"AWS": root}, {"Service": logs}, {"Service": PUBLISHERS})
    ]
    return {"Version": "2012-10-17", "Statement": statements}


def _place(aws: Clients, own: Existing, resolved: Resolved) -> Mapping[str, Any]:
    """Return the subnet and security groups of the user's network, or of the default VPC."""
    existing = resolved.network.existing
    if existing and existing.security_group_ids:
        groups = list(existing.security_group_ids)
        return {"SubnetIds": [existing.subnets[0].id], "SecurityGroupIds": groups}
    wanted = [existing.subnets[0].id] if existing else []
    subnet = aws.ec2.describe_subnets(SubnetIds=wanted)["Subnets"][0]
    group_id = f"sg-{secrets.token_hex(4)}"
    own.security_group(group_id, subnet["VpcId"])
    return {"SubnetIds": [subnet["SubnetId"]], "SecurityGroupIds": [group_id]}


def _ranges(existing: ExistingNetwork) -> Sequence[IPv4Network]:
    unstated = UNSTATED_RANGE.subnets(new_prefix=UNSTATED_PREFIX)
    stated = [subnet.cidr for subnet in existing.subnets if subnet.cidr]
    free = (cidr for cidr in unstated if not any(cidr.overlaps(other) for other in stated))
    return [subnet.cidr or next(free) for subnet in existing.subnets]


def _blocks(ranges: Sequence[IPv4Network]) -> Sequence[IPv4Network]:
    """Return CIDR blocks for a VPC that contains the ranges; AWS allows /16 at most."""
    return sorted({cidr.supernet(new_prefix=16) for cidr in ranges})


def _buckets(resolved: Resolved) -> Sequence[str]:
    mounted = [mount.bucket for mount in resolved.s3_mounts]
    used = [data.bucket for data in resolved.identity.data_buckets]
    linked = [
        urlsplit(repository.s3_uri).netloc
        for lustre in resolved.lustre
        for repository in lustre.settings.data_repositories
    ]
    served = [resolved.endpoint.model_bucket] if resolved.endpoint else []
    return sorted({*mounted, *used, *linked, *served, *resolved.network.s3_buckets})


def make_identity(aws: Clients, resolved: Resolved) -> None:
    """Create the IAM resources that the environment names, unless they exist."""
    identity = resolved.identity
    if boundary := identity.permissions_boundary:
        copy = resolved.policies.get(boundary.policy_file or "")
        _make_policy(aws, boundary.policy_arn, copy or _allowing("*"))
    for arn in identity.policy_arns:
        _make_policy(aws, arn, _allowing("sts:GetCallerIdentity"))
    if identity.existing:
        copies = [resolved.policies[file] for file in identity.existing.policy_files]
        for arn, nodes in node_roles(resolved).items():
            needed = document(grants(expected_scope(resolved, nodes)))
            _make_role(aws, arn, copies or [needed])


def _make_policy(aws: Clients, arn: str, policy: PolicyDocument) -> None:
    """Create a policy unless it exists; AWS managed policies always do."""
    if account_of_arn(arn) == "aws":
        return
    path, name = _path_and_name(arn)
    try:
        aws.iam.get_policy(PolicyArn=arn)
    except ClientError:
        aws.iam.create_policy(PolicyName=name, Path=path, PolicyDocument=json.dumps(policy))


def _make_role(aws: Clients, arn: str, policies: Sequence[PolicyDocument]) -> None:
    path, name = _path_and_name(arn)
    try:
        aws.iam.get_role(RoleName=name)
    except ClientError:
        aws.iam.create_role(RoleName=name, Path=path, AssumeRolePolicyDocument=json.dumps(TRUST))
        for number, policy in enumerate(policies, start=1):
            aws.iam.put_role_policy(
                RoleName=name, PolicyName=f"nodes-{number}", PolicyDocument=json.dumps(policy)
            )


def _allowing(action: str) -> PolicyDocument:
    statement = {"Effect": "Allow", "Action": action, "Resource": "*"}
    return {"Version": "2012-10-17", "Statement": [statement]}


def _path_and_name(arn: str) -> tuple[str, str]:
    """Return `/platform/` and `boundary` for an ARN that ends with policy/platform/boundary."""
    _, *path, name = arn.rpartition(":")[2].split("/")
    return "/".join(("", *path, "")), name
