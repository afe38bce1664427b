"""Rules for every ARN of an environment: its partition, its Region, its account, its form."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pydantic import BaseModel

from slurmpod.environment.names import (
    account_of_arn,
    partition_of_arn,
    region_of_arn,
    service_of_arn,
)
from slurmpod.environment.regions import could_be_region
from slurmpod.problems import Severity, YamlPath
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Area, Finding

ARNS = Area("ARN", "Resources that are named by their ARNs", reads=("region",))

FORM = "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html"
KEYS = "https://docs.aws.amazon.com/kms/latest/developerguide/multi-region-keys-overview.html"
BUCKET_KEYS = "https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingKMSEncryption.html"
OTHER_ACCOUNTS = (
    "https://docs.aws.amazon.com/kms/latest/developerguide/"
    "key-policy-modifying-external-accounts.html"
)
SECRETS = "https://docs.aws.amazon.com/secretsmanager/latest/userguide/"

FREE_TEXT = frozenset({"tags", "suppress"})
"""Sections in which texts name nothing to slurmpod."""

BUCKETS = frozenset({("storage", "s3_mounts"), ("identity", "data_buckets")})
"""Lists of existing buckets, in any Region."""

NOUNS = {"kms": "the key", "secretsmanager": "the secret", "sns": "the topic"}
"""Names of resources by service; roles, policies and training plans have separate rules."""

WHOLE_SECRET = re.compile(r"-[A-Za-z0-9]{6}$")


@ARNS.rule(
    "ARN-001",
    "Every ARN is of the Region's partition",
    why="AWS, AWS in China and AWS GovCloud share no accounts and no resources.",
    fix="name a resource of the Region's own partition",
    source=FORM,
)
def _partition_is_ours(resolved: Resolved) -> Iterator[Finding]:
    for path, arn in named_arns(resolved):
        if (partition := partition_of_arn(arn)) != resolved.aws_partition:
            message = f"it is of the partition {partition}, {resolved.region} of "
            yield Finding(path, f"{message}{resolved.aws_partition}")


@ARNS.rule(
    "ARN-002",
    "Every Region in an ARN is one that AWS could have",
    why="The Region does not exist.",
    fix="copy the ARN as AWS shows it",
    source=FORM,
    reads=(),
)
def _region_is_possible(resolved: Resolved) -> Iterator[Finding]:
    for path, arn in named_arns(resolved):
        region = region_of_arn(arn)
        if region and not could_be_region(region):
            yield Finding(path, f"there is no Region '{region}'")


@ARNS.rule(
    "ARN-003",
    "A key is in the Region of the data that it encrypts",
    why="All services encrypt only with keys of the same Region.",
    fix="write the ARN of a key in that Region, or of a replica of a multi-Region key",
    source=KEYS,
)
def _key_is_near(resolved: Resolved) -> Iterator[Finding]:
    arns = dict(named_arns(resolved))
    for path, arn in arns.items():
        if service_of_arn(arn) != "kms" or path[:2] in BUCKETS:
            continue
        secret = arns.get((*path[:-1], f"{str(path[-1]).removesuffix('_kms_key_arn')}_arn"))
        wanted = region_of_arn(secret) if secret else resolved.region
        if (region := region_of_arn(arn)) != wanted and could_be_region(region):
            yield Finding(path, f"the key is in {region}, not in {wanted}")


@ARNS.rule(
    "ARN-004",
    "Named resources belong to the environment's account",
    why="A key, a secret or a topic of another account works only where its policy, and for a "
    "secret that of its key, lets this account use it; slurmpod cannot check these policies.",
    fix="check its policy, then accept the warning with 'suppress'",
    source=OTHER_ACCOUNTS,
    severity=Severity.WARNING,
    reads=("account",),
)
def _account_is_ours(resolved: Resolved) -> Iterator[Finding]:
    for path, arn in named_arns(resolved):
        noun, account = NOUNS.get(service_of_arn(arn)), account_of_arn(arn)
        if noun and account != resolved.account:
            yield Finding(path, f"{noun} belongs to the account {account}")


@ARNS.rule(
    "ARN-005",
    "Buckets, secrets and topics are in the environment's Region",
    why="Another Region is slow to reach, and a closed network cannot reach it at all. S3 takes "
    "keys of the bucket's own Region only: with a key from another Region the bucket is there "
    "too, and every byte that jobs read costs transfer between Regions.",
    fix="name one of the environment's Region: replicate the secret, copy the data",
    source=BUCKET_KEYS,
    severity=Severity.WARNING,
)
def _is_near(resolved: Resolved) -> Iterator[Finding]:
    for path, arn in named_arns(resolved):
        region, noun = region_of_arn(arn), NOUNS.get(service_of_arn(arn))
        is_of_ours = noun == NOUNS["kms"] and path[:2] not in BUCKETS
        if noun and not is_of_ours and region != resolved.region and could_be_region(region):
            yield Finding(path, f"{noun} is in {region}, not in {resolved.region}")


@ARNS.rule(
    "ARN-006",
    "ARNs of secrets are complete",
    why="The ARN of a secret ends with a hyphen and six characters that Secrets Manager adds to "
    "its name. The nodes' role is allowed the ARN as written: without them it matches no "
    "secret, and reading the real one is denied.",
    fix="copy the ARN as 'aws secretsmanager describe-secret' shows it",
    source=f"{SECRETS}auth-and-access_iam-policies.html",
    reads=(),
)
def _secret_is_whole(resolved: Resolved) -> Iterator[Finding]:
    for path, arn in named_arns(resolved):
        if service_of_arn(arn) == "secretsmanager" and not WHOLE_SECRET.search(arn):
            yield Finding(path, "the six characters at the end are missing")


def named_arns(resolved: Resolved) -> Iterator[tuple[YamlPath, str]]:
    """Yield every ARN that the environment names, with its place."""
    for name, section in resolved.environment:
        if name not in FREE_TEXT:
            yield from _inside((name,), section)


def _inside(path: YamlPath, value: object) -> Iterator[tuple[YamlPath, str]]:
    """Yield the ARNs in what the user wrote; no default names anything."""
    if isinstance(value, str):
        if value.startswith("arn:"):
            yield path, value
    elif isinstance(value, BaseModel):
        for name in sorted(value.model_fields_set):
            yield from _inside((*path, name), getattr(value, name))
    elif isinstance(value, tuple):
        for index, inner in enumerate(value):
            yield from _inside((*path, index), inner)
