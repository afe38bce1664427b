"""Permissions of the lifecycle scripts, and of the daemons that they start."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.permissions.permission import (
    CONTROLLERS,
    Permission,
    Policy,
    Scope,
    Secret,
    Target,
)

LIFECYCLE_SCRIPTS = (
    "https://docs.aws.amazon.com/sagemaker/latest/dg/"
    "sagemaker-hyperpod-lifecycle-best-practices-slurm.html"
)
EFA_CLIENTS = "https://docs.aws.amazon.com/fsx/latest/LustreGuide/configure-efa-clients.html"
ACCOUNTING_DATABASE = (
    "https://docs.aws.amazon.com/sagemaker/latest/dg/"
    "sagemaker-hyperpod-external-accounting-db-slurm.html"
)
SECRETS = "https://docs.aws.amazon.com/secretsmanager/latest/userguide/security-encryption.html"
READING_SECRETS = (
    "https://docs.aws.amazon.com/secretsmanager/latest/userguide/retrieving-secrets_cli.html"
)
OBJECTS = "https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html"
MULTI_HEAD = (
    "https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-multihead-slurm.html"
)
REMOTE_WRITE = (
    "https://docs.aws.amazon.com/prometheus/latest/userguide/AMP-onboard-ingest-metrics.html"
)


def _bucket_of_scripts(scope: Scope) -> Iterator[Target]:
    if scope.scripts_bucket:
        yield Target((scope.bucket_arn(scope.scripts_bucket),))


def _scripts(scope: Scope) -> Iterator[Target]:
    if scope.scripts_bucket:
        yield Target((f"{scope.bucket_arn(scope.scripts_bucket)}/{scope.scripts_prefix}/*",))


def _records(scope: Scope) -> Iterator[Target]:
    if scope.scripts_bucket and scope.records_key:
        yield Target((f"{scope.bucket_arn(scope.scripts_bucket)}/{scope.records_key}",))


def _file_systems(scope: Scope) -> Iterator[Target]:
    if scope.asks_for_file_systems:
        yield Target(("*",))


def _database_secret(scope: Scope) -> Iterator[Target]:
    if scope.database_secret:
        yield Target((scope.database_secret.arn,))


def _key_of_the_database_secret(scope: Scope) -> Iterator[Target]:
    yield from key_of_secret(scope.database_secret, scope)


def _bind_secret(scope: Scope) -> Iterator[Target]:
    if scope.bind_secret:
        yield Target((scope.bind_secret.arn,))


def _key_of_the_bind_secret(scope: Scope) -> Iterator[Target]:
    yield from key_of_secret(scope.bind_secret, scope)


def key_of_secret(secret: Secret | None, scope: Scope, number: int = 0) -> Iterator[Target]:
    """Yield the key of a secret that is the user's own, for reading that secret."""
    if secret and secret.kms_key_arn:
        through = {"StringEquals": {"kms:ViaService": scope.service("secretsmanager")}}
        yield Target((secret.kms_key_arn,), through, number)


def _topic_of_takeovers(scope: Scope) -> Iterator[Target]:
    if scope.takeover_topic_arn:
        yield Target((scope.takeover_topic_arn,))


def _workspace(scope: Scope) -> Iterator[Target]:
    if scope.workspace_arn:
        yield Target((scope.workspace_arn,))


def _workspace_of_the_extension(scope: Scope) -> Iterator[Target]:
    if scope.extension_workspace_arn:
        yield Target((scope.extension_workspace_arn,))


_LIFECYCLE_SCRIPTS = Policy("LifecycleScripts", source=LIFECYCLE_SCRIPTS)
_ACCOUNTING = Policy("Accounting", roles=CONTROLLERS)
_DIRECTORY = Policy("Directory")
_METRICS = Policy("Metrics", source=REMOTE_WRITE)

SCRIPTS: tuple[Permission[Scope], ...] = (
    _LIFECYCLE_SCRIPTS.allows(
        sid="ListLifecycleScripts",
        actions=("s3:ListBucket",),
        resource="the environment's bucket of scripts",
        needed_by="HyperPod, before a new node starts",
        why="Every node fetches all files below the prefix that its group names.",
        targets=_bucket_of_scripts,
    ),
    _LIFECYCLE_SCRIPTS.allows(
        sid="GetLifecycleScripts",
        actions=("s3:GetObject",),
        resource="objects below the prefix of scripts, in the environment's bucket",
        needed_by="HyperPod, before a new node starts; steps that install mirrored packages",
        why="Every node fetches all files below the prefix that its group names, and packages "
        "that its image lacks from the same bucket.",
        targets=_scripts,
    ),
    Policy("FileSystem").allows(
        sid="DescribeFileSystems",
        actions=("fsx:DescribeFileSystems",),
        resource="`*`: IAM supports no narrower resource",
        needed_by="HyperPod's mount of FSx for Lustre with EFA",
        why="It queries whether the file system has EFA, and falls back to TCP without an answer.",
        source=EFA_CLIENTS,
        targets=_file_systems,
    ),
    _ACCOUNTING.allows(
        sid="ReadAccountingSecret",
        actions=("secretsmanager:GetSecretValue",),
        resource="the secret of the accounting database",
        needed_by="HyperPod, step accounting and step database_password",
        why="slurmdbd logs in to the database.",
        source=ACCOUNTING_DATABASE,
        targets=_database_secret,
    ),
    _ACCOUNTING.allows(
        sid="DecryptAccountingSecret",
        actions=("kms:Decrypt",),
        resource="the key of that secret, if it is yours",
        condition="`kms:ViaService` is Secrets Manager",
        needed_by="Secrets Manager, for HyperPod, step accounting and step database_password",
        why="Secrets Manager decrypts a secret with the permissions of the reader.",
        source=SECRETS,
        targets=_key_of_the_database_secret,
    ),
    _ACCOUNTING.allows(
        sid="KeepRecords",
        actions=("s3:GetObject", "s3:PutObject"),
        resource="the one object with saved job records, in the environment's bucket",
        needed_by="step accounting and the timer of step records_backup",
        why="The controller saves its job records, and a new one loads them.",
        source=OBJECTS,
        targets=_records,
    ),
    Policy("Takeovers", roles=CONTROLLERS).allows(
        sid="PublishTakeovers",
        actions=("sns:Publish",),
        resource="the topic that the environment names",
        needed_by="HyperPod's multi-head scripts on controllers",
        why="A controller sends a notification after taking over.",
        source=MULTI_HEAD,
        targets=_topic_of_takeovers,
    ),
    _DIRECTORY.allows(
        sid="ReadBindSecret",
        actions=("secretsmanager:GetSecretValue",),
        resource="the secret of the directory's bind user",
        needed_by="step sssd",
        why="Nodes look up users in the directory with their own bind user.",
        source=READING_SECRETS,
        targets=_bind_secret,
    ),
    _DIRECTORY.allows(
        sid="DecryptBindSecret",
        actions=("kms:Decrypt",),
        resource="the key of that secret, if it is yours",
        condition="`kms:ViaService` is Secrets Manager",
        needed_by="Secrets Manager, for step sssd",
        why="Secrets Manager decrypts a secret with the permissions of the reader.",
        source=SECRETS,
        targets=_key_of_the_bind_secret,
    ),
    _METRICS.allows(
        sid="WriteMetrics",
        actions=("aps:RemoteWrite",),
        resource="the environment's Prometheus workspace",
        needed_by="the metrics agent on the nodes",
        why="Nodes send the samples of their exporters.",
        targets=_workspace,
    ),
    _METRICS.allows(
        sid="WriteMetricsOfTheExtension",
        actions=("aps:RemoteWrite",),
        resource="the Prometheus workspace of monitoring.observability",
        needed_by="HyperPod's collector on the nodes",
        why="The collector sends metrics to its workspace.",
        targets=_workspace_of_the_extension,
    ),
)
