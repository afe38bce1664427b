"""The statement of a key's policy by which CloudWatch Logs may encrypt with it."""

from __future__ import annotations

from aws_cdk import aws_iam

from slurmpod.resolve import Resolved


def logs_encrypt(resolved: Resolved, sid: str, *log_groups: str) -> aws_iam.PolicyStatement:
    """Let CloudWatch Logs use a key for log groups alone; their names may end with `*`.

    Source: CloudWatch Logs user guide, "Encrypt log data in CloudWatch Logs using AWS KMS", step 2.
    """
    arns = [resolved.arn("logs", f"log-group:{name}") for name in log_groups]
    return aws_iam.PolicyStatement(
        sid=sid,
        principals=[aws_iam.ServicePrincipal(resolved.service("logs"))],
        actions=[
            "kms:Decrypt*",
            "kms:Describe*",
            "kms:Encrypt*",
            "kms:GenerateDataKey*",
            "kms:ReEncrypt*",
        ],
        resources=["*"],
        conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": arns}},
    )
