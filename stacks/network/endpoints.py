"""Endpoints of AWS services in the VPC: interface endpoints, the gateway to S3, their policies.

Without policies, a closed network would still let data out: into any bucket, with anyone's
credentials.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aws_cdk import Aws, aws_ec2, aws_iam
from constructs import Construct

from slurmpod.environment.network import SERVICES_WITHOUT_POLICIES
from slurmpod.permissions import actions_through_endpoint
from slurmpod.resolve import Resolved, session_names
from slurmpod.resolve.database import records_key

READ = ("s3:GetObject", "s3:GetBucketLocation", "s3:ListBucket")
WRITE = (
    *READ,
    "s3:AbortMultipartUpload",
    "s3:DeleteObject",
    "s3:ListMultipartUploadParts",
    "s3:PutObject",
)
_BUCKETS_OF_THE_AGENT = (
    "amazon-ssm",
    "amazon-ssm-packages",
    "aws-ssm",
    "aws-ssm-distributor-file",
    "aws-ssm-document-attachments",
)
RECORD = ("s3:AbortMultipartUpload", "s3:GetEncryptionConfiguration", "s3:PutObject")
"""Actions of the Systems Manager agent on the bucket for session records."""

SAVE = ("s3:AbortMultipartUpload", "s3:PutObject")
"""Actions of the controller on the object of saved job records; it may read its bucket."""


def service_policy(resolved: Resolved, service: str) -> aws_iam.PolicyDocument:
    """Allow roles and users of the environment's account the actions that nodes need.

    HyperPod's agents write logs, metrics and messages of sessions with the nodes' execution role,
    which is in this account (slurmpod/permissions, policy Agents). If the needed actions of a
    service are unknown, all are allowed.
    """
    return aws_iam.PolicyDocument(
        statements=[
            aws_iam.PolicyStatement(
                sid="OwnAccountOnly",
                principals=[aws_iam.AnyPrincipal()],
                actions=list(actions_through_endpoint(resolved, service)) or ["*"],
                resources=["*"],
                conditions=_own_account(resolved),
            )
        ]
    )


def s3_policy(resolved: Resolved) -> aws_iam.PolicyDocument:
    """Allow reading and writing the buckets that the environment names, and image layers.

    The CDK's asset bucket is not among them: its functions run outside the VPC.
    """
    read_only, writable = _buckets(resolved)
    statements = [
        aws_iam.PolicyStatement(
            sid=sid,
            principals=[aws_iam.AnyPrincipal()],
            actions=list(actions),
            resources=_arns(resolved, buckets),
            conditions=_own_account(resolved),
        )
        for sid, actions, buckets in (
            ("ReadBuckets", READ, read_only),
            ("ReadAndWriteBuckets", WRITE, writable),
            ("RecordSessions", RECORD, _session_buckets(resolved)),
        )
        if buckets
    ]
    if key := records_key(resolved):
        statements.append(_job_records(resolved, key))
    if resolved.notebook:
        statements.append(_packages(resolved))
    agents = _files_of_the_agent(resolved)
    return aws_iam.PolicyDocument(statements=[*statements, agents, _image_layers(resolved)])


def _buckets(resolved: Resolved) -> tuple[Sequence[str], Sequence[str]]:
    """Return the buckets that are only read from the network, and those also written, sorted."""
    data = resolved.identity.data_buckets
    writable = {mount.bucket for mount in resolved.s3_mounts if not mount.read_only}
    writable.update(bucket.bucket for bucket in data if bucket.access == "write")
    writable.update(resolved.network.s3_buckets)
    for lustre in resolved.lustre:
        writable.update(repository.bucket for repository in lustre.settings.data_repositories)
    read = {mount.bucket for mount in resolved.s3_mounts} | {bucket.bucket for bucket in data}
    if resolved.stacks.lifecycle:
        read.add(resolved.lifecycle.bucket)
    if resolved.endpoint:
        read.add(resolved.endpoint.model_bucket)
    return sorted(read - writable), sorted(writable)


def _session_buckets(resolved: Resolved) -> Sequence[str]:
    bucket = session_names(resolved).bucket
    return [bucket] if bucket else []


def _arns(resolved: Resolved, buckets: Sequence[str]) -> list[str]:
    return [
        f"{resolved.bucket_arn(bucket)}{objects}" for bucket in buckets for objects in ("", "/*")
    ]


def _own_account(resolved: Resolved) -> dict[str, object]:
    return {"StringEquals": {"aws:PrincipalAccount": resolved.account}}


def _job_records(resolved: Resolved, key: str) -> aws_iam.PolicyStatement:
    """Allow writing job records to the bucket of the scripts, and nothing else there."""
    return aws_iam.PolicyStatement(
        sid="SaveJobRecords",
        principals=[aws_iam.AnyPrincipal()],
        actions=list(SAVE),
        resources=[f"{resolved.bucket_arn(resolved.lifecycle.bucket)}/{key}"],
        conditions=_own_account(resolved),
    )


def _files_of_the_agent(resolved: Resolved) -> aws_iam.PolicyStatement:
    """Allow downloads of Systems Manager's agent: its updates, packages and documents.

    The buckets belong to AWS and are public. The credentials of HyperPod's agent for them are
    unknown, hence no condition on the account (Systems Manager user guide, "SSM Agent
    communications with AWS managed S3 buckets").
    """
    region = resolved.region
    buckets = [f"{name}-{region}" for name in _BUCKETS_OF_THE_AGENT]
    return aws_iam.PolicyStatement(
        sid="ReadFilesOfTheAgent",
        principals=[aws_iam.AnyPrincipal()],
        actions=["s3:GetObject"],
        resources=[
            f"{resolved.bucket_arn(bucket)}/*"
            for bucket in (*buckets, f"{region}-birdwatcher-prod")
        ],
    )


def _packages(resolved: Resolved) -> aws_iam.PolicyStatement:
    """Allow downloads of Amazon Linux 2023 packages for the notebook, such as lustre-client.

    The bucket is public, and read without credentials (Amazon Linux 2023 user guide, "Allowing
    access to the repositories through an Amazon S3 VPC endpoint").
    """
    bucket = f"al2023-repos-{resolved.region}-de612dc2"
    return aws_iam.PolicyStatement(
        sid="ReadPackagesOfAmazonLinux",
        principals=[aws_iam.AnyPrincipal()],
        actions=["s3:GetObject"],
        resources=[f"{resolved.bucket_arn(bucket)}/*"],
    )


def _image_layers(resolved: Resolved) -> aws_iam.PolicyStatement:
    """Allow downloads of container images: ECR keeps their layers in its bucket in every Region.

    ECR signs the download URLs itself, hence no condition on the account (Amazon ECR
    user guide, interface VPC endpoints, minimum Amazon S3 bucket permissions).
    """
    bucket = f"prod-{resolved.region}-starport-layer-bucket"
    return aws_iam.PolicyStatement(
        sid="ReadImageLayersOfEcr",
        principals=[aws_iam.AnyPrincipal()],
        actions=["s3:GetObject"],
        resources=[f"{resolved.bucket_arn(bucket)}/*"],
    )


HTTPS = 443

PRIVATE_RANGES = {
    "10.0.0.0/8": "RFC 1918",
    "172.16.0.0/12": "RFC 1918",
    "192.168.0.0/16": "RFC 1918",
    "100.64.0.0/10": "RFC 6598",
}
"""Possible sources in a VPC whose ranges are unknown."""


class InterfaceEndpoints(Construct):
    """One endpoint per service, with an address in every private subnet and private DNS names.

    Programs on the nodes need no settings: the services' usual names resolve to the endpoints. A
    separate security group admits the nodes. The policies, where the service supports them, allow
    only identities of this account, and only the actions that nodes need.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        resolved: Resolved,
        vpc_id: str,
        subnet_ids: Sequence[str],
        client_group_ids: Sequence[str],
    ) -> None:
        super().__init__(scope, id_)
        group = aws_ec2.CfnSecurityGroup(
            self,
            "Group",
            vpc_id=vpc_id,
            group_description="Interface endpoints: HTTPS from the nodes",
            security_group_ingress=list(
                _everyone_in_the_vpc() if resolved.network.existing else _nodes(client_group_ids)
            ),
            security_group_egress=[_no_egress()],
        )
        for service in resolved.network.interface_endpoints:
            aws_ec2.CfnVPCEndpoint(
                self,
                service,
                vpc_id=vpc_id,
                vpc_endpoint_type="Interface",
                service_name=f"com.amazonaws.{Aws.REGION}.{service}",
                subnet_ids=subnet_ids,
                security_group_ids=[group.attr_group_id],
                private_dns_enabled=True,
                policy_document=None
                if service in SERVICES_WITHOUT_POLICIES
                else service_policy(resolved, service),
            )


def _no_egress() -> aws_ec2.CfnSecurityGroup.EgressProperty:
    """Return a rule that allows nothing: without any rule, EC2 adds one that allows everything."""
    return aws_ec2.CfnSecurityGroup.EgressProperty(
        ip_protocol="-1", cidr_ip="127.0.0.1/32", description="Endpoints open no connections"
    )


def _nodes(client_group_ids: Sequence[str]) -> Iterator[aws_ec2.CfnSecurityGroup.IngressProperty]:
    for group_id in client_group_ids:
        yield aws_ec2.CfnSecurityGroup.IngressProperty(
            ip_protocol="tcp",
            from_port=HTTPS,
            to_port=HTTPS,
            source_security_group_id=group_id,
            description="Nodes",
        )


def _everyone_in_the_vpc() -> Iterator[aws_ec2.CfnSecurityGroup.IngressProperty]:
    """Admit all users of an existing VPC: private DNS directs all of them to the endpoints."""
    for cidr, source in PRIVATE_RANGES.items():
        yield aws_ec2.CfnSecurityGroup.IngressProperty(
            ip_protocol="tcp",
            from_port=HTTPS,
            to_port=HTTPS,
            cidr_ip=cidr,
            description=f"Whoever is in the VPC ({source})",
        )


class S3Endpoint(Construct):
    """Gateway endpoint for traffic to S3, which avoids NAT gateways, billed per GB.

    In a closed network it gives access only to the buckets that the environment names.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        resolved: Resolved,
        vpc_id: str,
        route_table_ids: Sequence[str],
    ) -> None:
        super().__init__(scope, id_)
        aws_ec2.CfnVPCEndpoint(
            self,
            "Resource",
            vpc_id=vpc_id,
            vpc_endpoint_type="Gateway",
            service_name=f"com.amazonaws.{Aws.REGION}.s3",
            route_table_ids=route_table_ids,
            policy_document=s3_policy(resolved) if resolved.network.closed else None,
        )
