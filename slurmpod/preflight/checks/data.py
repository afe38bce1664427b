"""Checks of buckets, keys and secrets that are there already."""

from __future__ import annotations

from collections.abc import Iterator

from embedded_aws.iam import NotAPolicy, Policies, Policy, Principal, Request, evaluate, policy_of
from slurmpod.preflight import names
from slurmpod.preflight.facts import Document, Facts
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.problems import Severity, YamlPath
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Finding

BUCKETS = "https://docs.aws.amazon.com/AmazonS3/latest/userguide/"
LINKED = "https://docs.aws.amazon.com/fsx/latest/LustreGuide/create-dra-linked-data-repo.html"
KEYS = "https://docs.aws.amazon.com/kms/latest/developerguide/"
ALLOWING_ALL = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}],
}
SECRETS = "https://docs.aws.amazon.com/secretsmanager/latest/userguide/"


@PREFLIGHT.rule(
    "PRE-401",
    "Buckets are there",
    why="Nodes mount and read buckets that somebody else made, and FSx links them.",
    fix="correct the name, or make the bucket",
    source=f"{BUCKETS}troubleshoot-403-errors.html",
)
def _buckets_are_there(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    found = facts.buckets or {}
    for name, path in names.buckets(resolved).items():
        if name in found and found[name] is None:
            yield Finding(path, f"there is no bucket {name}")


@PREFLIGHT.rule(
    "PRE-402",
    "Buckets are open to this account",
    why="A bucket at which even who asks here may not look belongs to another account, or its "
    "policy closes it.",
    fix="allow this account in the bucket policy; suppress it if only nodes may use it",
    source=f"{BUCKETS}troubleshoot-403-errors.html",
    severity=Severity.WARNING,
)
def _buckets_are_open(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for name, path in names.buckets(resolved).items():
        bucket = (facts.buckets or {}).get(name)
        if bucket and not bucket.is_open:
            yield Finding(path, f"{name} is closed to {facts.caller.arn if facts.caller else 'us'}")


@PREFLIGHT.rule(
    "PRE-403",
    "Buckets lie in the environment's Region",
    why="FSx links buckets of its own Region only; elsewhere every read costs a transfer between "
    "Regions, and time. A gateway endpoint does not lead there.",
    fix="use a bucket of this Region; suppress it if little is read",
    source=LINKED,
    severity=Severity.WARNING,
)
def _buckets_are_near(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for name, path in names.buckets(resolved).items():
        bucket = (facts.buckets or {}).get(name)
        if bucket and bucket.region and bucket.region != resolved.region:
            yield Finding(path, f"{name} lies in {bucket.region}")


@PREFLIGHT.rule(
    "PRE-404",
    "Keys of buckets are named",
    why="Who reads an object that is encrypted with a key of yours needs that key, too. Nodes get "
    "the keys that the environment names.",
    fix="write kms_key_arn beside the bucket, or model_data_kms_key_arn beside the model",
    source=f"{BUCKETS}UsingKMSEncryption.html",
    severity=Severity.WARNING,
)
def _keys_of_buckets_are_named(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for name, key, path in _used_by_nodes(resolved):
        bucket = (facts.buckets or {}).get(name)
        if bucket and bucket.kms_key and bucket.kms_key != key:
            yield Finding(path, f"{name} encrypts with {bucket.kms_key}", at_key=not key)


@PREFLIGHT.rule(
    "PRE-405",
    "Policies of buckets do not shut nodes out",
    why="A Deny in a bucket's policy holds whatever the role of a node, or of an endpoint, allows: "
    "one for all who come from elsewhere than a certain VPC or organization, for example.",
    fix="except the environment's roles or VPC from the Deny; suppress it if the policy does so "
    "by a name that is not known here",
    source=f"{BUCKETS}example-bucket-policies.html",
    severity=Severity.WARNING,
)
def _policies_let_nodes_in(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for name, _, path in _used_by_nodes(resolved):
        bucket = (facts.buckets or {}).get(name)
        if bucket and bucket.policy and _denies_nodes(bucket.policy, name, resolved):
            yield Finding(path, f"the policy of {name} denies the environment s3:GetObject")


def _used_by_nodes(resolved: Resolved) -> Iterator[tuple[str, str | None, YamlPath]]:
    """Yield buckets that roles of ours read: name, the key that is named, the place."""
    for index, mount in enumerate(resolved.s3_mounts):
        yield mount.bucket, mount.kms_key_arn, ("storage", "s3_mounts", index, "bucket")
    for index, data in enumerate(resolved.identity.data_buckets):
        yield data.bucket, data.kms_key_arn, ("identity", "data_buckets", index, "bucket")
    if endpoint := resolved.endpoint:
        key = endpoint.settings.model_data_kms_key_arn
        yield endpoint.model_bucket, key, (*endpoint.path, "model_data")


def _denies_nodes(policy: Document, bucket: str, resolved: Resolved) -> bool:
    """Return whether a policy denies reads of a node's role, as far as it is known."""
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


@PREFLIGHT.rule(
    "PRE-411",
    "Keys can be used",
    why="With a key that is missing, disabled or about to be deleted nothing is encrypted: "
    "volumes, file systems and logs that name it fail.",
    fix="correct the ARN, or enable the key",
    source=f"{KEYS}key-state.html",
)
def _keys_can_be_used(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    found = facts.keys or {}
    for arn, path in names.keys(resolved).items():
        key = found.get(arn)
        if arn in found and key is None:
            yield Finding(path, "there is no such key")
        elif key and key.state != "Enabled":
            yield Finding(path, f"the key is {key.state}")


@PREFLIGHT.rule(
    "PRE-412",
    "Policies of keys let the account's roles in",
    why="A key obeys its own policy first: roles can use it only if that lets the account "
    "decide, or names them.",
    fix="allow kms:* to the account's root in the key policy; suppress it if it names the roles",
    source=f"{KEYS}key-policy-default.html",
    severity=Severity.WARNING,
)
def _keys_let_the_account_in(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    role = f"arn:{resolved.aws_partition}:iam::{resolved.account}:role/{resolved.name}-nodes"
    everything = policy_of("of a role", ALLOWING_ALL)
    for arn, path in names.keys(resolved).items():
        key = (facts.keys or {}).get(arn)
        if (
            key
            and key.policy
            and not _lets_in(
                key.policy, arn, Principal(arn=role, role_arn=role), resolved, everything
            )
        ):
            yield Finding(path, f"the key's policy does not let account {resolved.account} decide")


@PREFLIGHT.rule(
    "PRE-413",
    "Policies of keys let CloudWatch Logs in",
    why="CloudWatch Logs encrypts with its own name and not with a role's; a log group whose key "
    "does not let it in is refused.",
    fix="allow logs.<region>.amazonaws.com kms:Encrypt*, Decrypt*, ReEncrypt*, GenerateDataKey* "
    "and Describe* in the key policy",
    source="https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html",
)
def _keys_let_logs_in(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    logs = Principal(service=resolved.service("logs"))
    for arn, path in _keys_of_logs(resolved):
        key = (facts.keys or {}).get(arn)
        if key and key.policy and not _lets_in(key.policy, arn, logs, resolved):
            yield Finding(path, f"the key's policy does not let {logs.service} encrypt")


def _keys_of_logs(resolved: Resolved) -> Iterator[tuple[str, YamlPath]]:
    flow_logs, monitoring = resolved.network.flow_logs, resolved.monitoring
    if flow_logs.kms_key_arn and resolved.network.existing is None:
        yield flow_logs.kms_key_arn, ("network", "flow_logs", "kms_key_arn")
    if monitoring and monitoring.kms_key_arn:
        yield monitoring.kms_key_arn, ("monitoring", "kms_key_arn")
    if resolved.endpoint and (key := resolved.endpoint.settings.kms_key_arn):
        yield key, (*resolved.endpoint.path, "kms_key_arn")


def _lets_in(policy: Document, arn: str, who: Principal, resolved: Resolved, *own: Policy) -> bool:
    """Return whether a key's policy lets somebody with policies of its `own` use the key."""
    logs = f"arn:{resolved.aws_partition}:logs:{resolved.region}:{resolved.account}:log-group:any"
    context = {
        "aws:PrincipalAccount": resolved.account,
        "aws:SourceAccount": resolved.account,
        "aws:SourceArn": logs,
        "kms:CallerAccount": resolved.account,
        "kms:EncryptionContext:aws:logs:arn": logs,
    }
    request = Request("kms:GenerateDataKey", arn, context, who)
    try:
        of_key = policy_of("of the key", policy)
        return evaluate(request, Policies(own, resource=of_key, resource_decides=True)).allowed
    except NotAPolicy:
        return True


@PREFLIGHT.rule(
    "PRE-421",
    "Secrets are there",
    why="Nodes read them while they are set up; without them slurmdbd, or the directory, has no "
    "password. A job that asks for one that is not there ends at once.",
    fix="correct the ARN (aws secretsmanager list-secrets), or restore the secret",
    source=f"{SECRETS}manage_delete-secret.html",
)
def _secrets_are_there(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    found = facts.secrets or {}
    for arn, path in names.secrets(resolved).items():
        secret = found.get(arn)
        if arn in found and secret is None:
            yield Finding(path, "there is no such secret")
        elif secret and secret.is_deleted:
            yield Finding(path, "the secret is about to be deleted")


@PREFLIGHT.rule(
    "PRE-422",
    "Secrets have a password",
    why="Nodes read the secret as JSON and take its entry 'password'; that of a database has "
    "'username', too.",
    fix='store {"username": ..., "password": ...} as JSON in the secret',
    source="lifecycle_scripts/slurmpod_lifecycle/stored_secret.py",
)
def _secrets_have_entries(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    for arn, path in names.passwords(resolved).items():
        secret = (facts.secrets or {}).get(arn)
        if secret and secret.entries is not None and "password" not in secret.entries:
            has = ", ".join(secret.entries) or "nothing that is JSON"
            yield Finding(path, f"the secret has no entry 'password': it has {has}")
