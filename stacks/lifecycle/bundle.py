"""The bundle of lifecycle scripts in a bucket, completed with deploy-time values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from aws_cdk import Annotations, RemovalPolicy, Stack, Token, aws_logs, aws_s3, aws_s3_deployment
from constructs import Construct

from slurmpod.bundle import Bundle, bundle_of
from slurmpod.reading.own_scripts import read_folder
from slurmpod.resolve.environment import LIFECYCLE_FOLDER
from slurmpod_cdk.given_properties import refuse
from slurmpod_cdk.lifecycle.bucket import BEGINNING, LifecycleBucket

MANAGED_POLICY = "AmazonSageMakerClusterInstanceRolePolicy"
ALLOW_IT = (
    "allow the nodes' role s3:ListBucket and s3:GetObject on it, or choose a bucket whose name "
    f"begins with '{BEGINNING}'"
)


class LifecycleBundle(Construct):
    """The files of a bundle at `source_s3_uri`, from where HyperPod fetches them for new nodes.

    They are in `folder` of `bucket`, under a hash of their content.

    Earlier bundles are kept: a running cluster uses its bundle until its update has ended, and a
    node that is replaced meanwhile fetches that one.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        source: Bundle | Path | str,
        entry_script: str,
        bucket: aws_s3.IBucket | None = None,
        values: Mapping[str, str] | None = None,
        generation: str | None = None,
    ) -> None:
        """Deploy a folder of scripts, or a rendered bundle.

        HyperPod starts `entry_script`, a file at the top level. By default a new `bucket` is
        created: private, encrypted, versioned, and retained. `values` are texts, which may be
        CloudFormation tokens, by the placeholders that they replace in the files.

        Tokens of another stack keep their text when the resource is replaced, and the CDK skips a
        stack with an unchanged template. With a new `generation` it deploys the files again.

        A bucket that AWS's managed policy for nodes does not cover gets a warning: one of your
        policies must allow their role to read it.

        Raises:
            WrongProperties: The folder cannot be used, lacks the entry script, or lacks a
                placeholder.
        """
        super().__init__(scope, id_)
        values = values or {}
        bundle = source if isinstance(source, Bundle) else self._read(Path(source), values)
        refuse(self, [*_lacks(bundle, entry_script)])
        for warning in _uncovered(bucket) if bucket else ():
            Annotations.of(self).add_warning_v2("slurmpod:scripts-bucket", warning)
        self.bucket = bucket or LifecycleBucket(self, "Scripts").bucket
        self.folder, _, _ = bundle.prefix.rpartition("/")
        self.source_s3_uri = f"s3://{self.bucket.bucket_name}/{bundle.prefix}"
        self.entry_script = entry_script
        self._deploy(bundle, values, generation)

    def _read(self, folder: Path, values: Mapping[str, str]) -> Bundle:
        found = read_folder(folder)
        refuse(self, [f"source: {each.message}: {each.fix}" for each in found.refused])
        waiting = {
            placeholder: [
                path for path, text in found.files.items() if placeholder.encode() in text
            ]
            for placeholder in values
        }
        missing = [placeholder for placeholder, paths in waiting.items() if not paths]
        refuse(self, [f"values: no file has the placeholder '{each}'" for each in missing])
        paths = sorted({path for each in waiting.values() for path in each})
        return bundle_of(found.files, LIFECYCLE_FOLDER, tuple(paths))

    def _deploy(self, bundle: Bundle, values: Mapping[str, str], generation: str | None) -> None:
        with TemporaryDirectory() as directory:
            _write_static_files(bundle, Path(directory))
            aws_s3_deployment.BucketDeployment(
                self,
                "Files",
                destination_bucket=self.bucket,
                destination_key_prefix=bundle.prefix,
                sources=[
                    aws_s3_deployment.Source.asset(directory),
                    *(_deploy_time_file(bundle, path, values) for path in bundle.deploy_time_files),
                ],
                metadata={"generation": generation} if generation else None,
                log_group=_log_group(self),
                prune=False,
                retain_on_delete=True,
            )


def _lacks(bundle: Bundle, entry_script: str) -> Iterator[str]:
    """Yield a message if HyperPod would not find the entry script."""
    at_the_top = sorted(path for path in bundle.files if "/" not in path)
    if entry_script not in at_the_top:
        there = ", ".join(at_the_top) or "none"
        yield f"entry_script: no '{entry_script}' at the top level; found: {there}"


def _uncovered(bucket: aws_s3.IBucket) -> Iterator[str]:
    """Yield a message if AWS's policy does not cover this bucket or its name is unknown.

    Sources: SageMaker API reference, ClusterLifeCycleConfig (the name is required because of that
    policy); aws-samples/sample-physical-ai-scaffolding-kit, whose bucket has another name and whose
    role may read it.
    """
    made = bucket.node.default_child
    name = bucket.bucket_name
    if isinstance(made, aws_s3.CfnBucket):
        name = Stack.of(bucket).resolve(made.bucket_name)
    if name is None:
        yield f"{MANAGED_POLICY} does not cover a bucket with a generated name: {ALLOW_IT}"
    elif isinstance(name, str) and not Token.is_unresolved(name) and not name.startswith(BEGINNING):
        yield f"{MANAGED_POLICY} does not cover '{name}': {ALLOW_IT}"


def _log_group(scope: Construct) -> aws_logs.LogGroup:
    """Return the function's log group, created before the function.

    The CDK would create it after the function, which fails if the function has already written.
    """
    return aws_logs.LogGroup(
        scope,
        "Log",
        retention=aws_logs.RetentionDays.ONE_MONTH,
        removal_policy=RemovalPolicy.DESTROY,
    )


def _write_static_files(bundle: Bundle, directory: Path) -> None:
    for path in bundle.files.keys() - set(bundle.deploy_time_files):
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bundle.files[path])


def _deploy_time_file(
    bundle: Bundle, path: str, values: Mapping[str, str]
) -> aws_s3_deployment.ISource:
    text = bundle.files[path].decode()
    for placeholder, value in values.items():
        text = text.replace(placeholder, value)
    return aws_s3_deployment.Source.data(path, text, json_escape=path.endswith(".json"))
