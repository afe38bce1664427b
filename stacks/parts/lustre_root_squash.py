"""Root squash of a Lustre file system, which CloudFormation cannot set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import aws_iam, custom_resources
from constructs import Construct

from slurmpod.environment.lustre import RootSquash

if TYPE_CHECKING:
    from aws_cdk import aws_fsx


class LustreRootSquash(Construct):
    """Tells FSx whom root of a node becomes, once the file system is there.

    FSx takes this at creation and later, but AWS::FSx::FileSystem has no property for it; hence
    one call of UpdateFileSystem by the CDK's own function. Nothing is undone when the construct
    goes: a stack that is deleted must not open files that were closed to root.
    """

    def __init__(
        self, scope: Construct, id_: str, *, squash: RootSquash, lustre: aws_fsx.CfnFileSystem
    ) -> None:
        super().__init__(scope, id_)
        custom_resources.AwsCustomResource(
            self,
            "Setting",
            resource_type="Custom::LustreRootSquash",
            install_latest_aws_sdk=False,
            on_update=custom_resources.AwsSdkCall(
                service="fsx",
                action="UpdateFileSystem",
                parameters={
                    "FileSystemId": lustre.ref,
                    "LustreConfiguration": {
                        "RootSquashConfiguration": {
                            "RootSquash": squash.user,
                            "NoSquashNids": list(squash.except_nids),
                        }
                    },
                },
                output_paths=["FileSystem.FileSystemId"],
                physical_resource_id=custom_resources.PhysicalResourceId.of(lustre.ref),
            ),
            policy=custom_resources.AwsCustomResourcePolicy.from_statements(
                [
                    aws_iam.PolicyStatement(
                        actions=["fsx:UpdateFileSystem"], resources=[lustre.attr_resource_arn]
                    )
                ]
            ),
        )
