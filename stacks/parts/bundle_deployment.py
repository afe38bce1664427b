"""Puts the bundle of lifecycle scripts into the bucket, completed with deploy-time values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from aws_cdk import RemovalPolicy, aws_logs, aws_s3_deployment
from constructs import Construct

from slurmpod.bundle import Bundle

if TYPE_CHECKING:
    from aws_cdk import aws_s3


class BundleDeployment(Construct):
    """The files of a bundle under its content-hashed prefix.

    Earlier bundles stay: a running cluster points to its own until its update has ended, and a
    node that is replaced meanwhile fetches that one.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        bucket: aws_s3.Bucket,
        bundle: Bundle,
        values: Mapping[str, str],
        generation: str,
    ) -> None:
        """Deploy `bundle`; `values` are the CloudFormation tokens in place of its placeholders.

        The tokens stay the same when what they stand for is replaced, and the CDK passes over a
        stack whose template is the same. With another `generation` it deploys the files again.
        """
        super().__init__(scope, id_)
        with TemporaryDirectory() as directory:
            _write_static_files(bundle, Path(directory))
            aws_s3_deployment.BucketDeployment(
                self,
                "Files",
                destination_bucket=bucket,
                destination_key_prefix=bundle.prefix,
                sources=[
                    aws_s3_deployment.Source.asset(directory),
                    *(_deploy_time_file(bundle, path, values) for path in bundle.deploy_time_files),
                ],
                metadata={"generation": generation},
                log_group=_log_group(self),
                prune=False,
                retain_on_delete=True,
            )


def _log_group(scope: Construct) -> aws_logs.LogGroup:
    """Return the function's log group, made before the function.

    The CDK's own is made after it, and fails when the function has already written.
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
