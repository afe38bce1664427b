"""Policies of endpoints: identities of this account, actions and buckets in use may pass.

A closed network would otherwise still let data out: into any bucket, with anyone's credentials.
"""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_iam

from slurmpod.deploy.permissions import actions_through_endpoint
from slurmpod.resolve import Resolved, session_names

READ = ("s3:GetObject", "s3:GetBucketLocation", "s3:ListBucket")
WRITE = (
    *READ,
    "s3:AbortMultipartUpload",
    "s3:DeleteObject",
    "s3:ListMultipartUploadParts",
    "s3:PutObject",
)
RECORD = ("s3:AbortMultipartUpload", "s3:GetEncryptionConfiguration", "s3:PutObject")
"""What the Systems Manager agent does with the bucket for records of sessions."""


def service_policy(resolved: Resolved, service: str) -> aws_iam.PolicyDocument:
    """Let through what roles or users of the environment's account ask, if nodes ask it at all.

    HyperPod's agents write logs, metrics and messages of sessions with the nodes' execution role,
    which is of this account (slurmpod/deploy/permissions, policy Agents). Where nobody knows what
    is asked of the service, everything is.
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
    """Let through what reads or writes buckets that the environment names, and image layers.

    The CDK's asset bucket is none of them: its functions run outside the VPC.
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
    return aws_iam.PolicyDocument(statements=[*statements, _image_layers(resolved)])


def _buckets(resolved: Resolved) -> tuple[Sequence[str], Sequence[str]]:
    """Return the buckets that nodes only read, and those that they write too, sorted."""
    data = resolved.identity.data_buckets
    writable = {mount.bucket for mount in resolved.s3_mounts if not mount.read_only}
    writable.update(bucket.bucket for bucket in data if bucket.access == "write")
    writable.update(resolved.network.s3_buckets)
    for lustre in resolved.lustre:
        writable.update(repository.bucket for repository in lustre.settings.data_repositories)
    read = {mount.bucket for mount in resolved.s3_mounts} | {bucket.bucket for bucket in data}
    if resolved.stacks.lifecycle:
        read.add(resolved.lifecycle.bucket)
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


def _image_layers(resolved: Resolved) -> aws_iam.PolicyStatement:
    """Let container images in: ECR keeps their layers in a bucket of its own in every Region.

    It hands out links that ECR itself has signed, hence no condition on the account (Amazon ECR
    user guide, interface VPC endpoints, minimum Amazon S3 bucket permissions).
    """
    bucket = f"prod-{resolved.region}-starport-layer-bucket"
    return aws_iam.PolicyStatement(
        sid="ReadImageLayersOfEcr",
        principals=[aws_iam.AnyPrincipal()],
        actions=["s3:GetObject"],
        resources=[f"{resolved.bucket_arn(bucket)}/*"],
    )
