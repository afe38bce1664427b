"""Questions about buckets, keys, secrets and images that are there already."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import DENIALS, denied_into, suppressed
from slurmpod.preflight import names
from slurmpod.preflight.facts import Bucket, Document, Image, Key, Secret
from slurmpod.preflight.questions.question import Question
from slurmpod.resolve import Resolved


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
    """Return the ARN of a key of somebody's own; empty for S3's keys, and where it is not told."""
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


def _keys(clients: AwsClients, resolved: Resolved) -> dict[str, Key | None]:
    return {arn: _key(clients.kms, arn) for arn in names.keys(resolved)}


def _key(kms: Any, arn: str) -> Key | None:
    with suppressed("NotFoundException"):
        state = kms.describe_key(KeyId=arn)["KeyMetadata"]["KeyState"]
        policy, refused = None, list[str]()
        with denied_into(refused, "kms:GetKeyPolicy"):
            policy = json.loads(kms.get_key_policy(KeyId=arn, PolicyName="default")["Policy"])
        return Key(state, policy, tuple(refused))
    return None


def _secrets(clients: AwsClients, resolved: Resolved) -> dict[str, Secret | None]:
    opened = names.passwords(resolved)
    return {
        arn: _secret(clients.secrets_manager, arn, is_opened=arn in opened)
        for arn in names.secrets(resolved)
    }


def _secret(manager: Any, arn: str, *, is_opened: bool) -> Secret | None:
    """Return what is known of a secret; what jobs ask for stays closed."""
    with suppressed("ResourceNotFoundException"):
        found = manager.describe_secret(SecretId=arn)
        if "DeletedDate" in found:
            return Secret(is_deleted=True, entries=None)
        refused: list[str] = []
        entries = _entries(manager, arn, refused) if is_opened else None
        return Secret(False, entries, tuple(refused))
    return None


def _entries(manager: Any, arn: str, refused: list[str]) -> tuple[str, ...] | None:
    """Return the names of what is in a secret; its values go no further than here."""
    with denied_into(refused, "secretsmanager:GetSecretValue"):
        try:
            content = json.loads(_value(manager, arn))
        except ValueError:
            return ()
        return tuple(sorted(content)) if isinstance(content, dict) else ()
    return None


def _value(manager: Any, arn: str) -> str:
    """Return the text of a secret that is there; empty for one that was made without a value."""
    with suppressed("ResourceNotFoundException"):
        return str(manager.get_secret_value(SecretId=arn).get("SecretString", ""))
    return ""


def _images(clients: AwsClients, resolved: Resolved) -> dict[str, Image | None]:
    wanted = names.images(resolved)
    filters = [{"Name": "image-id", "Values": list(wanted)}]
    found = {
        each["ImageId"]: each for each in clients.ec2.describe_images(Filters=filters)["Images"]
    }
    return {id_: _image(found[id_]) if id_ in found else None for id_ in wanted}


def _image(found: Any) -> Image:
    created = datetime.fromisoformat(found["CreationDate"])
    return Image(found["State"], found.get("Architecture", ""), created)


QUESTIONS = (
    Question(
        "buckets",
        "buckets",
        ("s3:GetBucketPolicy", "s3:GetEncryptionConfiguration", "s3:ListBucket"),
        ("s3",),
        _buckets,
        lambda resolved: bool(names.buckets(resolved)),
    ),
    Question(
        "keys",
        "keys",
        ("kms:DescribeKey", "kms:GetKeyPolicy"),
        ("kms",),
        _keys,
        lambda resolved: bool(names.keys(resolved)),
    ),
    Question(
        "secrets",
        "secrets",
        ("secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue"),
        ("secrets_manager",),
        _secrets,
        lambda resolved: bool(names.secrets(resolved)),
    ),
    Question(
        "images",
        "machine images",
        ("ec2:DescribeImages",),
        ("ec2",),
        _images,
        lambda resolved: bool(names.images(resolved)),
    ),
)
