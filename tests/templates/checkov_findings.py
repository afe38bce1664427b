"""The findings of checkov that this project accepts, and why; stacks/nag has cdk-nag's."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Accepted:
    """One accepted finding: its id, a glob for `<type>.<logical id>`, and the reason."""

    check: str
    resource: str
    reason: str


_FUNCTIONS = tuple(
    f"AWS::Lambda::Function.{name}*"
    for name in (
        "AWS679f53fac002430cb0da5b7982bd2287",  # the CDK's calls of the AWS API
        "CustomCDKBucketDeployment",
        "CustomS3AutoDeleteObjects",
        "CustomVpcRestrictDefaultSG",
        "NodeCountFunction",
    )
)
_OF_FUNCTIONS = {
    "CKV_AWS_115": "CloudFormation or a schedule calls them, a few calls at a time and seldom: a "
    "reserved share of the account's concurrency would only take it from other functions.",
    "CKV_AWS_116": "A failed call is not lost: CloudFormation waits for the answer and fails the "
    "deployment, and what a schedule calls shows in an alarm and runs again at its next time.",
    "CKV_AWS_117": "They call public endpoints of AWS with roles of their own and touch nothing in "
    "the VPC; inside it they would need interfaces, endpoints and a security group for nothing.",
}

ACCEPTED = (
    *(
        Accepted(check, function, reason)
        for check, reason in _OF_FUNCTIONS.items()
        for function in _FUNCTIONS
    ),
    Accepted(
        "CKV_AWS_173",
        "AWS::Lambda::Function.CustomCDKBucketDeployment*",
        "Lambda encrypts the variables with a key of its own. The only one holds the path of a "
        "certificate bundle.",
    ),
    Accepted(
        "CKV_AWS_173",
        "AWS::Lambda::Function.NodeCountFunction*",
        "Lambda encrypts the variables with a key of its own. They are the name and ARN of the "
        "cluster and a namespace of metrics.",
    ),
    *(
        Accepted(
            "CKV_AWS_158",
            f"AWS::Logs::LogGroup.{name}*",
            "CloudWatch Logs encrypts every group with a key of its own. Output of the CDK's "
            "functions during deployments: no data of users, no secrets.",
        )
        for name in ("AWS679f53fac002430cb0da5b7982bd2287LogGroup", "BundleLog")
    ),
    Accepted(
        "CKV_AWS_158",
        "AWS::Logs::LogGroup.NetworkFlowLogs*",
        "CloudWatch Logs encrypts every group with a key of its own; whoever must hold the key of "
        "flow logs names it: network.flow_logs.kms_key_arn.",
    ),
    Accepted(
        "CKV_AWS_18",
        "AWS::S3::Bucket.ScriptsBucket*",
        "Generated scripts, of which every version is kept and which, of what slurmpod makes, only "
        "the deployment writes.",
    ),
    Accepted(
        "CKV_AWS_18",
        "AWS::S3::Bucket.RecordsBucket*",
        "The bucket is itself a record: nodes only add to it and the policy for administrators "
        "only reads. CloudTrail data events record each access where a policy asks.",
    ),
    Accepted(
        "CKV_AWS_27",
        "AWS::SQS::Queue.EventsUndelivered*",
        "SQS encrypts the messages with a key of its own. A key of KMS that services may not use "
        "is one of the reasons for events to end up here, so the queue must not need one.",
    ),
    Accepted(
        "CKV_AWS_118",
        "AWS::RDS::DBInstance.RecordsServer*",
        "The database has one client, slurmdbd. Storage, connections and load are in CloudWatch "
        "without it, and slurmdbd's own log tells of slow answers.",
    ),
    Accepted(
        "CKV2_AWS_69",
        "AWS::RDS::DBInstance.RecordsServer*",
        "In extended and managed mode HyperPod writes slurmdbd.conf, and is not known to encrypt: "
        "a server that insists would refuse it. In customer mode it is required.",
    ),
)
