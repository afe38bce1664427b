"""Accepted findings on functions and their roles.

All except the one that counts nodes are the CDK's and run during deployments.
"""

from __future__ import annotations

from slurmpod_cdk.nag.waiver import HERE, NAME, Waiver

_MAY_WRITE_LOGS = "Policy::arn:*:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"
_DEPLOYMENT_POLICY = "*-lifecycle/Custom::CDKBucketDeployment*/ServiceRole/DefaultPolicy/Resource"
_DEPLOYMENT_READS = (
    "The CDK's bucket deployment function uses it to read the bundle. The only resources of the "
    "statements are the bootstrap's asset bucket and the lifecycle bucket."
)
_DEPLOYMENT_WRITES = (
    "The CDK's bucket deployment function uses it to write the bundle, to the lifecycle bucket "
    "only. Its code deletes nothing here (prune is off) and overwritten objects remain as "
    "versions; anyone who may change the function could delete versions, too."
)
_WRITES_LOGS = (
    "A function of the CDK, which runs during deployments. The policy allows writing logs to any "
    "log group in the account, and nothing else."
)
_FUNCTIONS = (
    "*-lifecycle/Custom::CDKBucketDeployment*/Resource",
    "*-storage/AWS679f53fac002430cb0da5b7982bd2287/Resource",
    "*-cluster-watch/AWS679f53fac002430cb0da5b7982bd2287/Resource",
    "*-cluster-watch/NodeCount/Function/Resource",
)
_ONE_CALLER = (
    "CloudFormation or the schedule invokes it, rarely and with few calls at a time: reserved "
    "concurrency would only take capacity from other functions of the account."
)
_CALLER_SEES_FAILURES = (
    "A failed call is not lost: CloudFormation waits for the response and fails the deployment, "
    "and a failed scheduled call raises an alarm and runs again at the next scheduled time."
)
_NO_NETWORK_NEEDED = (
    "It calls public endpoints of AWS with a narrow role and uses nothing in the VPC. Inside the "
    "VPC it would need interfaces, endpoints and a security group without any benefit."
)
_LOGS_OF_DEPLOYMENTS = (
    "CloudWatch Logs encrypts every group with its own key. These entries are the output of the "
    "CDK's functions, which run during deployments: names and ids of resources, no user data and "
    "no secrets. They are kept for a month, or two years if the CDK creates the group."
)

FUNCTIONS = (
    *(
        Waiver("AwsSolutions-IAM4", path, _WRITES_LOGS, _MAY_WRITE_LOGS)
        for path in (
            "*-lifecycle/Custom::CDKBucketDeployment*/ServiceRole/Resource",
            "*-storage/AWS679f53fac002430cb0da5b7982bd2287/ServiceRole/Resource",
            "*-cluster-watch/AWS679f53fac002430cb0da5b7982bd2287/ServiceRole/Resource",
        )
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:s3:::cdk-{NAME}-assets-{'[0-9]' * 12}-*/[*]",
        path=_DEPLOYMENT_POLICY,
        reason="The CDK's bucket deployment function reads assets, whose keys are content hashes, "
        "from the bootstrap's asset bucket. All CDK apps in this account and Region share that "
        "bucket; it must not contain secrets.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail="Resource::<ScriptsBucket[A-F0-9]*.Arn>/[*]",
        path=_DEPLOYMENT_POLICY,
        reason="The CDK's bucket deployment function writes the bundle under a prefix that changes "
        "with its content, in a bucket that holds nothing else.",
    ),
    *(
        Waiver("AwsSolutions-IAM5", _DEPLOYMENT_POLICY, _DEPLOYMENT_READS, f"Action::s3:{action}")
        for action in ("GetBucket[*]", "GetObject[*]", "List[*]")
    ),
    *(
        Waiver("AwsSolutions-IAM5", _DEPLOYMENT_POLICY, _DEPLOYMENT_WRITES, f"Action::s3:{action}")
        for action in ("Abort[*]", "DeleteObject[*]")
    ),
    *(Waiver("*-LambdaConcurrency", path, _ONE_CALLER) for path in _FUNCTIONS),
    *(Waiver("*-LambdaDLQ", path, _CALLER_SEES_FAILURES) for path in _FUNCTIONS),
    *(Waiver("*-LambdaInsideVPC", path, _NO_NETWORK_NEEDED) for path in _FUNCTIONS),
    Waiver(
        rule="AwsSolutions-L1",
        path="*-lifecycle/Custom::CDKBucketDeployment*/Resource",
        reason="The CDK's bucket deployment function runs on the Python version that the pinned "
        "aws-cdk-lib was tested with, and changes with that pin. It runs during deployments only.",
    ),
    *(
        Waiver("*-CloudWatchLogGroupEncrypted", path, _LOGS_OF_DEPLOYMENTS)
        for path in (
            "*-lifecycle/Bundle/Log/Resource",
            "*-storage/AWS679f53fac002430cb0da5b7982bd2287/LogGroup/Resource",
            "*-cluster-watch/AWS679f53fac002430cb0da5b7982bd2287/LogGroup/Resource",
        )
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:logs:{HERE}:log-group:{NAME}:[*]",
        path="*-cluster-watch/Logs/*/CustomResourcePolicy/Resource",
        reason="One log group, that of the cluster. In policies, CloudWatch Logs requires the star "
        "in the ARN of a log group: it matches the group's streams.",
    ),
)
