"""Which KMS keys a call uses beside what it is about: those that encrypt what it reads or writes.

The caller must be allowed to use them, through the service. Sources: S3 user guide, "Using
server-side encryption with AWS KMS keys"; Secrets Manager user guide, "Secret encryption and
decryption"; SNS developer guide, "Data encryption". Keys that AWS keeps for a service ask for none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.enforcement.names import OWN_KEY_PREFIX
from slurmpod.rehearsal.cloud.enforcement.need import Need

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slurmpod.rehearsal.cloud.enforcement.calls import Call
    from slurmpod.rehearsal.cloud.enforcement.names import Names

DECRYPT, DATA_KEY = "kms:Decrypt", "kms:GenerateDataKey"
_STARTS_WRITING = frozenset({"CopyObject", "CreateMultipartUpload", "PutObject"})
_GOES_ON_WRITING = frozenset({"CompleteMultipartUpload", "UploadPart", "UploadPartCopy"})


def key_needs(call: Call, names: Names) -> Iterator[Need]:
    """Yield the uses of keys that a call takes."""
    key, actions = _used_key(call, names)
    if not key or OWN_KEY_PREFIX in key:
        return
    domain = "amazonaws.com.cn" if names.partition == "aws-cn" else "amazonaws.com"
    context = {
        "kms:CallerAccount": names.account,
        "kms:ViaService": f"{call.service}.{call.region}.{domain}",
    }
    for action in actions:
        yield Need(action, names.key(call.region, key), context)


def _used_key(call: Call, names: Names) -> tuple[str, Sequence[str]]:
    """Return the key that a call uses, or nothing, and for what."""
    if call.service == "s3":
        return _of_objects(call, names)
    if call.service == "secretsmanager" and call.operation == "GetSecretValue":
        secret = names.secret(call.region, str(call.given.get("SecretId")))
        return getattr(secret, "kms_key_id", None) or "", (DECRYPT,)
    if call.service == "sns" and call.operation == "Publish":
        topic = names.topic(str(call.given.get("TopicArn")))
        return getattr(topic, "kms_master_key_id", None) or "", (DECRYPT, DATA_KEY)
    return "", ()


def _of_objects(call: Call, names: Names) -> tuple[str, Sequence[str]]:
    bucket = names.bucket(str(call.given.get("Bucket")))
    if bucket is None:
        return "", ()
    if call.operation == "GetObject":
        stored = bucket.keys.get(str(call.given.get("Key")))
        encrypted = getattr(stored, "encryption", None) == "aws:kms"
        return (stored.kms_key_id or "" if encrypted and stored else ""), (DECRYPT,)
    if call.operation in _STARTS_WRITING:
        return _key_for_writing(call, bucket), (DATA_KEY,)
    if call.operation in _GOES_ON_WRITING:
        return _key_for_writing(call, bucket), (DECRYPT,)
    return "", ()


def _key_for_writing(call: Call, bucket: Any) -> str:
    """Return the key that the request names, or else the bucket's own."""
    asked = call.given.get("ServerSideEncryption")
    if asked:
        return str(call.given.get("SSEKMSKeyId") or "") if asked == "aws:kms" else ""
    rule = ((bucket.encryption or {}).get("Rule") or {}).get("ApplyServerSideEncryptionByDefault")
    return str((rule or {}).get("KMSMasterKeyID") or "")
