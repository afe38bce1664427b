"""The stack that `cdk bootstrap` makes in an account, and every deployment stands on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.aws.errors import as_unavailable
from slurmpod.operations.deploy.cdk import required_cdk_script

if TYPE_CHECKING:
    from types_boto3_cloudformation import CloudFormationClient
    from types_boto3_cloudformation.type_defs import ParameterTypeDef

STACK = "CDKToolkit"
TEMPLATE = "lib/api/bootstrap/bootstrap-template.yaml"
"""The CDK command line's own template, in its package."""

PARAMETERS: dict[str, str] = {
    "FileAssetsBucketKmsKeyId": "AWS_MANAGED_KEY",
    "PublicAccessBlockConfiguration": "true",
}
"""What `cdk bootstrap` says without options where the template's defaults say otherwise."""


def bootstrap(cloudformation: CloudFormationClient) -> None:
    """Make the stack, which most accounts have had for long when an environment comes.

    The command itself takes three seconds of a processor for it.

    Raises:
        AwsUnavailable: The embedded AWS does not make it.
        CdkFailed: The CDK command line, which has the template, is missing.
    """
    template = required_cdk_script().parents[1] / TEMPLATE
    parameters: list[ParameterTypeDef] = [
        {"ParameterKey": name, "ParameterValue": value} for name, value in PARAMETERS.items()
    ]
    with as_unavailable("bootstrap the account"):
        cloudformation.create_stack(
            StackName=STACK,
            TemplateBody=template.read_text(encoding="utf-8"),
            Parameters=parameters,
            Capabilities=["CAPABILITY_NAMED_IAM"],
        )
        waiter = cloudformation.get_waiter("stack_create_complete")
        waiter.wait(StackName=STACK, WaiterConfig={"Delay": 1})
