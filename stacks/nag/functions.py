"""Accepted findings on functions and their roles.

All but the one that counts nodes are the CDK's own and run during deployments.
"""

from __future__ import annotations

from slurmpod_cdk.nag.waiver import HERE, NAME, Waiver

_MAY_WRITE_LOGS = "Policy::arn:*:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"
_DEPLOYMENT_POLICY = "*-lifecycle/Custom::CDKBucketDeployment*/ServiceRole/DefaultPolicy/Resource"
_DEPLOYMENT_READS = (
    "CDK's own bucket deployment function reads the bundle with it. The only resources of the "
    "statements are the bootstrap's asset bucket and the lifecycle bucket."
)
_DEPLOYMENT_WRITES = (
    "CDK's own bucket deployment function writes the bundle with it, to the lifecycle bucket "
    "alone. Its code deletes nothing here (prune is off) and what it overwrites stays as a "
    "version; who may change the function could delete versions, too."
)
_WRITES_LOGS = (
    "CDK's own function, which runs during deployments. The policy allows writing logs, of any "
    "group in the account, and nothing else."
)
_FUNCTIONS = (
    "*-lifecycle/Custom::CDKBucketDeployment*/Resource",
    "*-storage/AWS679f53fac002430cb0da5b7982bd2287/Resource",
    "*-cluster-watch/AWS679f53fac002430cb0da5b7982bd2287/Resource",
    "*-cluster-watch/NodeCount/Function/Resource",
)
_ONE_CALLER = (
    "CloudFormation or the schedule calls it, a few calls at a time and seldom: a reserved share "
    "of the account's concurrency would only take it from other functions."
)
_CALLER_SEES_FAILURES = (
    "A failed call is not lost: CloudFormation waits for the answer and fails the deployment with "
    "it, and what the schedule calls shows in an alarm and runs again at its next time."
)
_NO_NETWORK_NEEDED = (
    "It calls public endpoints of AWS with its own narrow role and touches nothing in the VPC. "
    "Inside it, it would need interfaces, endpoints and a security group for nothing."
)
_LOGS_OF_DEPLOYMENTS = (
    "CloudWatch Logs encrypts every group with a key of its own. These entries are the output of "
    "CDK's own functions, which run during deployments: names and ids of resources, no data of "
    "users and no secrets. They are kept for a month, or two years where the CDK makes the group."
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
        reason="CDK's own bucket deployment function reads assets, whose keys are content hashes, "
        "from the bootstrap's asset bucket. All applications of the CDK in this account and Region "
        "share that bucket; secrets have no place there.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail="Resource::<ScriptsBucket[A-F0-9]*.Arn>/[*]",
        path=_DEPLOYMENT_POLICY,
        reason="CDK's own bucket deployment function writes the bundle under a prefix that changes "
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
        reason="CDK's own bucket deployment function runs on the Python version that the pinned "
        "aws-cdk-lib was tested with, and moves with that pin. It runs during deployments only.",
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
        reason="One log group, that of the cluster. The star is how CloudWatch Logs writes the "
        "ARN of a log group in policies: it stands for its streams.",
    ),
)
