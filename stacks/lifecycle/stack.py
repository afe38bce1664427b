"""The lifecycle stack: the bucket with the lifecycle scripts of nodes."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import CfnOutput
from constructs import Construct

from slurmpod.bundle import (
    DATABASE_ENDPOINT,
    DATABASE_SECRET_ARN,
    OPENZFS_DNS_NAME,
    REMOTE_WRITE_URL,
    Bundle,
    lustre_placeholders,
)
from slurmpod.resolve import Resolved
from slurmpod_cdk.database.stack import DatabaseServer
from slurmpod_cdk.environment_stack import EnvironmentStack
from slurmpod_cdk.generation import generation
from slurmpod_cdk.lifecycle.bucket import LifecycleBucket
from slurmpod_cdk.lifecycle.bundle import LifecycleBundle
from slurmpod_cdk.monitoring.stack import Watching
from slurmpod_cdk.storage.stack import FileSystems


def lifecycle_of(
    scope: Construct,
    resolved: Resolved,
    bundle: Bundle | None,
    file_systems: FileSystems,
    database: DatabaseServer | None,
    watching: Watching | None,
) -> LifecycleStack | None:
    """Make the bucket with `bundle`, completed with deploy-time values."""
    if bundle is None:
        return None
    values = _deploy_time_values(file_systems, database, watching)
    return LifecycleStack(scope, resolved=resolved, bundle=bundle, values=values)


class LifecycleStack(EnvironmentStack):
    """The bundle of lifecycle scripts, which HyperPod fetches for every new node.

    An environment in managed mode has none.
    """

    def __init__(
        self,
        scope: Construct,
        *,
        resolved: Resolved,
        bundle: Bundle,
        values: Mapping[str, str],
    ) -> None:
        assert resolved.stacks.lifecycle  # noqa: S101  # there is a bundle
        super().__init__(
            scope,
            resolved.stacks.lifecycle,
            resolved=resolved,
            description=f"Lifecycle scripts of the HyperPod cluster {resolved.name}",
        )
        lifecycle = resolved.lifecycle
        is_kept = lifecycle.bucket_on_delete == "retain"
        backup = resolved.slurm.records_backup
        scripts = LifecycleBucket(
            self,
            "Scripts",
            bucket_name=lifecycle.bucket,
            is_kept=is_kept,
            records_days=backup.keep_days if backup else None,
        )
        LifecycleBundle(
            self,
            "Bundle",
            source=bundle,
            entry_script=str(lifecycle.entry_script),
            bucket=scripts.bucket,
            values=values,
            generation=generation(resolved),
        )
        self.bundle_uri = f"s3://{lifecycle.bucket}/{bundle.prefix}"
        self._add_outputs(lifecycle.bucket)

    def _add_outputs(self, bucket: str) -> None:
        CfnOutput(
            self,
            "LifecycleBucket",
            value=bucket,
            description="Bucket with the lifecycle scripts",
        )
        CfnOutput(
            self,
            "BundleUri",
            value=self.bundle_uri,
            description="Where new nodes fetch their lifecycle scripts",
        )


def _deploy_time_values(
    file_systems: FileSystems, database: DatabaseServer | None, watching: Watching | None
) -> dict[str, str]:
    """Return the placeholders for new resources in rendered files, with their values."""
    values: dict[str, str] = {}
    for name, target in file_systems.lustre.items():
        placeholders = lustre_placeholders(name)
        values[placeholders.dns_name] = target.dns_name
        values[placeholders.mount_name] = target.mount_name
    if file_systems.openzfs:
        values[OPENZFS_DNS_NAME] = file_systems.openzfs.dns_name
    if database:
        values[DATABASE_ENDPOINT] = database.endpoint
        values[DATABASE_SECRET_ARN] = database.secret_arn
    if watching and watching.remote_write_url:
        values[REMOTE_WRITE_URL] = watching.remote_write_url
    return values
