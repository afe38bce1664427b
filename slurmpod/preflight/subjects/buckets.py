"""Existing buckets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from embedded_aws.iam import NotAPolicy, Policies, Principal, Request, evaluate, policy_of
from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import DENIALS, denied_into, suppressed
from slurmpod.preflight import names
from slurmpod.preflight.facts import Document, Facts
from slurmpod.preflight.question import Question
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.problems import Severity, YamlPath
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Finding

S3_GUIDE = "https://docs.aws.amazon.com/AmazonS3/latest/userguide/"


LINKED = "https://docs.aws.amazon.com/fsx/latest/LustreGuide/create-dra-linked-data-repo.html"


@dataclass(frozen=True)
class Bucket:
    """A bucket; `is_open` is whether the caller may access it, `refused` the actions that fail.

    `region` is empty if unknown, `kms_key` if objects are not encrypted with a customer managed
    key. `policy` is None without one.
    """

    is_open: bool
    region: str
    kms_key: str
    policy: Document | None
    refused: tuple[str, ...] = ()


def _buckets(clients: AwsClients, resolved: Resolved) -> dict[str, Bucket | None]:
    return {name: _bucket(clients.s3, name) for name in names.buckets(resolved)}


def _bucket(s3: Any, name: str) -> Bucket | None:
    with suppressed("404", "NoSuchBucket"):
        with suppressed(*DENIALS):
            found = s3.head_bucket(Bucket=name)
            headers = found["ResponseMetadata"]["HTTPHeaders"]
            region = found.get("BucketRegion") or headers.get("x-amz-bucket-region", "")
            refused: list[str] = []
            key, policy = _key_of(s3, name, refused), _policy_of(s3, name, refused)
            return Bucket(True, region, key, policy, tuple(refused))
        return Bucket(is_open=False, region="", kms_key="", policy=None)
    return None


def _key_of(s3: Any, bucket: str, refused: list[str]) -> str:
    """Return the ARN of a customer managed key; empty for S3's keys, and if unknown."""
    none = suppressed("ServerSideEncryptionConfigurationNotFoundError")
    with none, denied_into(refused, "s3:GetEncryptionConfiguration"):
        found = s3.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"]
        rules = [each.get("ApplyServerSideEncryptionByDefault", {}) for each in found["Rules"]]
        return next((each["KMSMasterKeyID"] for each in rules if "KMSMasterKeyID" in each), "")
    return ""


def _policy_of(s3: Any, bucket: str, refused: list[str]) -> Document | None:
    with suppressed("NoSuchBucketPolicy"), denied_into(refused, "s3:GetBucketPolicy"):
        return dict(json.loads(s3.get_bucket_policy(Bucket=bucket)["Policy"]))
    return None


BUCKETS = Question(
    "buckets",
    "buckets",
    ("s3:GetBucketPolicy", "s3:GetEncryptionConfiguration", "s3:ListBucket"),
    ("s3",),
    _buckets,
    named=names.buckets,
)


@PREFLIGHT.rule(
    "PRE-401",
    "Buckets exist",
    why="Nodes mount and read existing buckets, and FSx links them; slurmpod does not create "
    "these.",
    fix="correct the name, or create the bucket",
    source=f"{S3_GUIDE}troubleshoot-403-errors.html",
)
def _buckets_are_there(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    found = facts[BUCKETS] or {}
    for name, path in names.buckets(resolved).items():
        if name in found and found[name] is None:
            yield Finding(path, f"there is no bucket {name}")


@PREFLIGHT.rule(
    "PRE-402",
    "Buckets are open to this account",
    why="A bucket that the caller cannot access belongs to another account, or its policy "
    "denies access.",
    fix="allow this account in the bucket policy; suppress it if only nodes may use it",
    source=f"{S3_GUIDE}troubleshoot-403-errors.html",
    severity=Severity.WARNING,
)
def _buckets_are_open(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for name, path in names.buckets(resolved).items():
        bucket = (facts[BUCKETS] or {}).get(name)
        if bucket and not bucket.is_open:
            yield Finding(
                path,
                f"{name} denies access to {facts.caller.arn if facts.caller else 'the caller'}",
            )


@PREFLIGHT.rule(
    "PRE-403",
    "Buckets are in the environment's Region",
    why="FSx links only buckets of the same Region; from another Region every read costs time "
    "and data transfer. A gateway endpoint does not reach it.",
    fix="use a bucket of this Region; suppress it if little is read",
    source=LINKED,
    severity=Severity.WARNING,
)
def _buckets_are_near(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for name, path in names.buckets(resolved).items():
        bucket = (facts[BUCKETS] or {}).get(name)
        if bucket and bucket.region and bucket.region != resolved.region:
            yield Finding(path, f"{name} is in {bucket.region}")


@PREFLIGHT.rule(
    "PRE-404",
    "Keys of buckets are named",
    why="Reading an object that is encrypted with your key needs permission for that key, too. "
    "Nodes get permissions for the keys that the environment names.",
    fix="write kms_key_arn beside the bucket, or model_data_kms_key_arn beside the model",
    source=f"{S3_GUIDE}UsingKMSEncryption.html",
    severity=Severity.WARNING,
)
def _keys_of_buckets_are_named(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for name, key, path in _used_by_nodes(resolved):
        bucket = (facts[BUCKETS] or {}).get(name)
        if bucket and bucket.kms_key and bucket.kms_key != key:
            yield Finding(path, f"{name} encrypts with {bucket.kms_key}", at_key=not key)


@PREFLIGHT.rule(
    "PRE-405",
    "Bucket policies do not deny access to nodes",
    why="A Deny in a bucket's policy overrides what the role of a node or an endpoint allows: "
    "for example a Deny for all requests from outside a certain VPC or organization.",
    fix="except the environment's roles or VPC from the Deny; suppress it if the policy does so "
    "by a name that slurmpod does not know",
    source=f"{S3_GUIDE}example-bucket-policies.html",
    severity=Severity.WARNING,
)
def _policies_let_nodes_in(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for name, _, path in _used_by_nodes(resolved):
        bucket = (facts[BUCKETS] or {}).get(name)
        if bucket and bucket.policy and _denies_nodes(bucket.policy, name, resolved):
            yield Finding(path, f"the policy of {name} denies the environment s3:GetObject")


def _used_by_nodes(resolved: Resolved) -> Iterator[tuple[str, str | None, YamlPath]]:
    """Yield the buckets that slurmpod's roles read: name, named key, path."""
    for index, mount in enumerate(resolved.s3_mounts):
        yield mount.bucket, mount.kms_key_arn, ("storage", "s3_mounts", index, "bucket")
    for index, data in enumerate(resolved.identity.data_buckets):
        yield data.bucket, data.kms_key_arn, ("identity", "data_buckets", index, "bucket")
    if endpoint := resolved.endpoint:
        key = endpoint.settings.model_data_kms_key_arn
        yield endpoint.model_bucket, key, (*endpoint.path, "model_data")


def _denies_nodes(policy: Document, bucket: str, resolved: Resolved) -> bool:
    """Return whether a policy denies reads to a node's role, as far as the role is known."""
    existing, network = resolved.identity.existing, resolved.network.existing
    root = f"arn:{resolved.aws_partition}:iam::{resolved.account}"
    role = existing.controller if existing else f"{root}:role/{resolved.name}-nodes"
    context = {
        "aws:PrincipalAccount": resolved.account,
        "aws:PrincipalArn": role,
        "aws:RequestedRegion": resolved.region,
        "aws:ResourceAccount": resolved.account,
        "aws:SecureTransport": "true",
        "aws:SourceVpc": network.vpc_id if network else "vpc-that-is-new",
    }
    node = Principal(arn=role, role_arn=role)
    request = Request("s3:GetObject", f"{resolved.bucket_arn(bucket)}/object", context, node)
    try:
        return evaluate(request, Policies(resource=policy_of("of the bucket", policy))).explicit
    except NotAPolicy:
        return False


QUESTIONS = (BUCKETS,)
