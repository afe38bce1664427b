"""The lifecycle stack: the bucket with the scripts that set nodes up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import CfnOutput

from slurmpod.rendering import Placeholder
from stacks.parts.bundle_deployment import BundleDeployment
from stacks.parts.environment_stack import EnvironmentStack
from stacks.parts.lifecycle_bucket import LifecycleBucket

if TYPE_CHECKING:
    from constructs import Construct

    from slurmpod.rendering import Bundle
    from slurmpod.resolve import Resolved
    from stacks.storage import StorageStack


class LifecycleStack(EnvironmentStack):
    """The bundle of lifecycle scripts, where HyperPod fetches it for every new node."""

    def __init__(
        self, scope: Construct, *, resolved: Resolved, bundle: Bundle, storage: StorageStack
    ) -> None:
        super().__init__(
            scope,
            resolved.stacks.lifecycle,
            resolved=resolved,
            description=f"Lifecycle scripts of the HyperPod cluster {resolved.name}",
        )
        scripts = LifecycleBucket(self, "Scripts", bucket_name=resolved.lifecycle.bucket)
        BundleDeployment(
            self,
            "Bundle",
            bucket=scripts.bucket,
            bundle=bundle,
            values={
                Placeholder.FILE_SYSTEM_DNS_NAME: storage.file_system.dns_name,
                Placeholder.FILE_SYSTEM_MOUNT_NAME: storage.file_system.mount_name,
            },
        )
        self.bundle_uri = f"s3://{resolved.lifecycle.bucket}/{bundle.prefix}"
        CfnOutput(
            self,
            "LifecycleBucket",
            value=resolved.lifecycle.bucket,
            description="Bucket with the lifecycle scripts",
        )
        CfnOutput(
            self,
            "BundleUri",
            value=self.bundle_uri,
            description="Where new nodes fetch their lifecycle scripts",
        )
