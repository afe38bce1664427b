"""CloudWatch log groups: the prefix for cluster nodes, and permission to encrypt."""

from __future__ import annotations

from aws_cdk import aws_iam

from slurmpod.resolve import Resolved

CLUSTER_LOGS = "/aws/sagemaker/Clusters"
"""Prefix of the node logs of HyperPod: /aws/sagemaker/Clusters/<name>/<id> (developer guide,
"SageMaker HyperPod cluster resiliency")."""


def logs_encrypt(resolved: Resolved, sid: str, *log_groups: str) -> aws_iam.PolicyStatement:
    """Allow CloudWatch Logs to use a key for these log groups only; names may end with `*`.

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
