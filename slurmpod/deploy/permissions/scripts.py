"""Permissions of the lifecycle scripts, and of the daemons that they start."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.deploy.permissions.permission import ALL_NODES, CONTROLLERS, Permission, Scope, Target

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
MULTI_HEAD = (
    "https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-multihead-slurm.html"
)
REMOTE_WRITE = (
    "https://docs.aws.amazon.com/prometheus/latest/userguide/AMP-onboard-ingest-metrics.html"
)


def bucket_arn(scope: Scope, bucket: str) -> str:
    """Return the ARN of a bucket; those of its objects begin with it."""
    return f"arn:{scope.resolved.aws_partition}:s3:::{bucket}"


def _bucket_of_scripts(scope: Scope) -> Iterator[Target]:
    if scope.resolved.stacks.lifecycle:
        yield Target((bucket_arn(scope, scope.resolved.lifecycle.bucket),))


def _scripts(scope: Scope) -> Iterator[Target]:
    lifecycle = scope.resolved.lifecycle
    if scope.resolved.stacks.lifecycle:
        yield Target((f"{bucket_arn(scope, lifecycle.bucket)}/{lifecycle.prefix}/*",))


def _file_systems(scope: Scope) -> Iterator[Target]:
    """Of existing file systems nobody has said whether they have EFA."""
    settings = [lustre.settings for lustre in scope.resolved.lustre]
    if any(each.efa or each.existing for each in settings):
        yield Target(("*",))


def _database_secret(scope: Scope) -> Iterator[Target]:
    database = scope.resolved.database
    arn = scope.database_secret_arn or (database and database.secret_arn)
    if arn:
        yield Target((arn,))


def _key_of_the_database_secret(scope: Scope) -> Iterator[Target]:
    slurm = scope.resolved.slurm
    database = slurm.accounting_database
    key = slurm.rds.kms_key_arn if slurm.rds else database and database.secret_kms_key_arn
    if key:
        yield _through_secrets_manager(scope, key)


def _bind_secret(scope: Scope) -> Iterator[Target]:
    directory = scope.resolved.access.directory
    if directory and directory.bind_secret_arn:
        yield Target((directory.bind_secret_arn,))


def _key_of_the_bind_secret(scope: Scope) -> Iterator[Target]:
    directory = scope.resolved.access.directory
    if directory and directory.bind_secret_kms_key_arn:
        yield _through_secrets_manager(scope, directory.bind_secret_kms_key_arn)


def _through_secrets_manager(scope: Scope, key_arn: str) -> Target:
    service = scope.resolved.service("secretsmanager")
    return Target((key_arn,), {"StringEquals": {"kms:ViaService": service}})


def _topic_of_takeovers(scope: Scope) -> Iterator[Target]:
    multi_head = scope.resolved.slurm.multi_head
    if multi_head and multi_head.sns_topic_arn:
        yield Target((multi_head.sns_topic_arn,))


def _workspace(scope: Scope) -> Iterator[Target]:
    if scope.workspace_arn:
        yield Target((scope.workspace_arn,))


SCRIPTS = (
    Permission(
        policy="LifecycleScripts",
        sid="ListLifecycleScripts",
        actions=("s3:ListBucket",),
        resource="the environment's bucket of scripts",
        needed_by="HyperPod, before a new node starts",
        roles=ALL_NODES,
        why="Every node fetches all files below the prefix that its group names.",
        source=LIFECYCLE_SCRIPTS,
        targets=_bucket_of_scripts,
    ),
    Permission(
        policy="LifecycleScripts",
        sid="GetLifecycleScripts",
        actions=("s3:GetObject",),
        resource="objects below the prefix of scripts, in the environment's bucket",
        needed_by="HyperPod, before a new node starts; steps that install mirrored packages",
        roles=ALL_NODES,
        why="Every node fetches all files below the prefix that its group names, and packages that "
        "its image lacks from beside them.",
        source=LIFECYCLE_SCRIPTS,
        targets=_scripts,
    ),
    Permission(
        policy="FileSystem",
        sid="DescribeFileSystems",
        actions=("fsx:DescribeFileSystems",),
        resource="`*`: IAM knows no narrower one",
        needed_by="HyperPod's mount of FSx for Lustre with EFA",
        roles=ALL_NODES,
        why="It asks whether the file system has EFA, and would take TCP without an answer.",
        source=EFA_CLIENTS,
        targets=_file_systems,
    ),
    Permission(
        policy="Accounting",
        sid="ReadAccountingSecret",
        actions=("secretsmanager:GetSecretValue",),
        resource="the secret of the accounting database",
        needed_by="HyperPod, step accounting and step database_password",
        roles=CONTROLLERS,
        why="slurmdbd logs in to the database.",
        source=ACCOUNTING_DATABASE,
        targets=_database_secret,
    ),
    Permission(
        policy="Accounting",
        sid="DecryptAccountingSecret",
        actions=("kms:Decrypt",),
        resource="the key of that secret, where it is yours",
        condition="`kms:ViaService` is Secrets Manager",
        needed_by="Secrets Manager, for HyperPod, step accounting and step database_password",
        roles=CONTROLLERS,
        why="Secrets Manager decrypts a secret with the permissions of who reads it.",
        source=SECRETS,
        targets=_key_of_the_database_secret,
    ),
    Permission(
        policy="Takeovers",
        sid="PublishTakeovers",
        actions=("sns:Publish",),
        resource="the topic that the environment names",
        needed_by="HyperPod's multi-head scripts on controllers",
        roles=CONTROLLERS,
        why="A controller that has taken over says so.",
        source=MULTI_HEAD,
        targets=_topic_of_takeovers,
    ),
    Permission(
        policy="Directory",
        sid="ReadBindSecret",
        actions=("secretsmanager:GetSecretValue",),
        resource="the secret of the directory's bind user",
        needed_by="step sssd",
        roles=ALL_NODES,
        why="Nodes ask the directory who their users are, under a name of their own.",
        source=READING_SECRETS,
        targets=_bind_secret,
    ),
    Permission(
        policy="Directory",
        sid="DecryptBindSecret",
        actions=("kms:Decrypt",),
        resource="the key of that secret, where it is yours",
        condition="`kms:ViaService` is Secrets Manager",
        needed_by="Secrets Manager, for step sssd",
        roles=ALL_NODES,
        why="Secrets Manager decrypts a secret with the permissions of who reads it.",
        source=SECRETS,
        targets=_key_of_the_bind_secret,
    ),
    Permission(
        policy="Metrics",
        sid="WriteMetrics",
        actions=("aps:RemoteWrite",),
        resource="the environment's Prometheus workspace",
        needed_by="the metrics agent on the nodes",
        roles=ALL_NODES,
        why="Nodes send the samples of their exporters themselves.",
        source=REMOTE_WRITE,
        targets=_workspace,
    ),
)
