"""The stack that `cdk bootstrap` creates in an account; every deployment requires it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.aws.errors import as_unavailable
from slurmpod.operations.deploy.cdk import required_cdk_script

if TYPE_CHECKING:
    from types_boto3_cloudformation import CloudFormationClient
    from types_boto3_cloudformation.type_defs import ParameterTypeDef

STACK = "CDKToolkit"
TEMPLATE = "lib/api/bootstrap/bootstrap-template.yaml"
"""The CDK CLI's own template, in its package."""

PARAMETERS: dict[str, str] = {
    "FileAssetsBucketKmsKeyId": "AWS_MANAGED_KEY",
    "PublicAccessBlockConfiguration": "true",
}
"""Parameters that `cdk bootstrap` passes by default and that differ from the template's."""


def bootstrap(cloudformation: CloudFormationClient) -> None:
    """Create the stack; most accounts have it long before they get an environment.

    `cdk bootstrap` itself would take three seconds of CPU time.

    Raises:
        AwsUnavailable: The embedded AWS does not create the stack.
        CdkFailed: The CDK CLI, which contains the template, is missing.
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
