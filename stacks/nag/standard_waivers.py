"""The findings of the NIST 800-53 R5, HIPAA and PCI DSS packs that this project accepts, and why.

The packs repeat each other, so an entry holds for all of them: its rule begins with a star. As
`slurmpod_cdk.nag.waivers`, which has the findings of AwsSolutions.
"""

from __future__ import annotations

from slurmpod_cdk.nag.waivers import GOES_WITH_ITS_STACK, ONE_SERVER, Waiver

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
_INLINE_BELONGS_TO_ONE_ROLE = (
    "The policy belongs to this one role and goes with it. A managed policy could be attached to "
    "others, outlive the role and be changed without it."
)
_ROLES_WITH_INLINE_POLICIES = (
    "*-identity/*/Role/Resource",
    "*-identity/*/Buckets/Resource",
    "*-identity/*/DataBuckets/Resource",
    "*-lifecycle/Custom::CDKBucketDeployment*/ServiceRole/DefaultPolicy/Resource",
    "*-network/Network/Vpc/FlowLog/IAMRole/DefaultPolicy/Resource",
    "*-storage/*/RootSquash/Setting/CustomResourcePolicy/Resource",
    "*-cluster-watch/Logs/*/CustomResourcePolicy/Resource",
    "*-cluster-watch/NodeCount/Role/Resource",
    "*-monitoring/Grafana/Role/Resource",
    "*-endpoint/Endpoint/Role/Resource",
    "*-notebook/Notebook/Role/Resource",
)
_LOGS_OF_DEPLOYMENTS = (
    "CloudWatch Logs encrypts every group with a key of its own. These entries are the output of "
    "CDK's own functions, which run during deployments: names and ids of resources, no data of "
    "users and no secrets. They are kept for a month, or two years where the CDK makes the group."
)

STANDARD_WAIVERS = (
    *(Waiver("*-LambdaConcurrency", path, _ONE_CALLER) for path in _FUNCTIONS),
    *(Waiver("*-LambdaDLQ", path, _CALLER_SEES_FAILURES) for path in _FUNCTIONS),
    *(Waiver("*-LambdaInsideVPC", path, _NO_NETWORK_NEEDED) for path in _FUNCTIONS),
    *(
        Waiver("*-IAMNoInlinePolicy", path, _INLINE_BELONGS_TO_ONE_ROLE)
        for path in _ROLES_WITH_INLINE_POLICIES
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
        rule="*-CloudWatchLogGroupEncrypted",
        path="*-network/Network/FlowLogs/Resource",
        without="*-network/Network/FlowLogsKey",
        reason="CloudWatch Logs encrypts every group with a key of its own. Whoever must hold the "
        "key of the flow logs names it: network.flow_logs.kms_key_arn.",
    ),
    Waiver(
        rule="*-VPCFlowLogsEnabled",
        path="*-network/Network/Vpc/Resource",
        without="*-network/Network/Vpc/FlowLog/FlowLog",
        reason="The environment file switches flow logs off: rule FLO-001 has warned, and whoever "
        "accepts that writes the reason beside it.",
    ),
    Waiver(
        rule="*-VPCNoUnrestrictedRouteToIGW",
        path="*-network/Network/Vpc/PublicSubnet*/DefaultRoute",
        reason="The public subnets hold the NAT gateways and nothing else; nodes have no public "
        "address and no route to the internet gateway. A closed network has neither.",
    ),
    Waiver(
        rule="*-EC2RestrictedCommonPorts",
        path="*-network/Nodes/FromItself",
        reason="The rule lets members of the security group, nodes and file systems, reach each "
        "other, nobody else. EFA works only when all traffic between them is allowed, and HyperPod "
        "tests that. Ports of a job are so open to other nodes, not beyond.",
    ),
    Waiver(
        rule="*-S3BucketLoggingEnabled",
        path="*-lifecycle/Scripts/Bucket/Resource",
        reason="As for AwsSolutions-S1: generated scripts, of which every version is kept and "
        "which, of what slurmpod makes, only the deployment can write. CloudTrail data events "
        "record who else does, where a policy asks.",
    ),
    Waiver(
        rule="*-S3BucketLoggingEnabled",
        path="*-access/Records/Bucket/Resource",
        reason="The bucket is itself a record. Of what slurmpod makes, nodes can only add to it "
        "and the policy for administrators only reads; CloudTrail data events show who did, where "
        "a policy asks.",
    ),
    Waiver(
        rule="*-S3BucketReplicationEnabled",
        path="*-lifecycle/Scripts/Bucket/Resource",
        reason="The content is generated from the environment file: the next deployment, in this "
        "Region or another, makes it again byte for byte.",
    ),
    Waiver(
        rule="*-S3BucketReplicationEnabled",
        path="*-access/Records/Bucket/Resource",
        reason="Records of sessions belong to the cluster's Region; a copy in another would move "
        "what people typed out of it. S3 keeps them in three zones, versioned.",
    ),
    Waiver(
        rule="*-S3DefaultEncryptionKMS",
        path="*-lifecycle/Scripts/Bucket/Resource",
        reason="S3 encrypts the objects with its own keys. They hold scripts and settings: names, "
        "ids and public keys of people, but no data of theirs and no secrets. A key of KMS would "
        "be one more thing that new nodes need.",
    ),
    Waiver(
        rule="*-RDSEnhancedMonitoringEnabled",
        path="*-database/Records/Server",
        reason="The database has one client, slurmdbd. Storage, connections and load are in "
        "CloudWatch without it, and slurmdbd's own log tells of slow answers.",
    ),
    Waiver(
        rule="*-RDSInBackupPlan",
        path="*-database/Records/Server",
        reason="RDS itself keeps backups, from which every second of the last days can be "
        "restored (slurm.rds.backup_retention_days). A plan of AWS Backup can be added by tag.",
    ),
    Waiver(
        rule="*-RDSMultiAZSupport",
        path="*-database/Records/Server",
        without="*-database/Records/Standby",
        reason=ONE_SERVER,
    ),
    Waiver(
        rule="*-RDSInstanceDeletionProtectionEnabled",
        path="*-database/Records/Server",
        without="*-database/Records/DeletionProtection",
        reason=GOES_WITH_ITS_STACK,
    ),
    Waiver(
        rule="*-CloudWatchLogGroupEncrypted",
        path="*-database/Records/*Log",
        without="*-database/Records/Key",
        reason="CloudWatch Logs encrypts every group with a key of its own. Whoever must hold the "
        "key of the database and its logs names it: slurm.rds.kms_key_arn.",
    ),
    Waiver(
        rule="*-SageMakerEndpointConfigurationKMSKeyConfigured",
        path="*-endpoint/Endpoint/Configuration",
        without="*-endpoint/Endpoint/VolumeKey",
        reason="The volumes hold a copy of the model and no data; AWS encrypts them with a key of "
        "its own, and instances with disks of their own encrypt these by hardware and take no key. "
        "Whoever must hold the key of volumes names it: services.endpoint.kms_key_arn.",
    ),
    Waiver(
        rule="*-CloudWatchLogGroupEncrypted",
        path="*-endpoint/Endpoint/Log",
        without="*-endpoint/Endpoint/LogKey",
        reason="CloudWatch Logs encrypts every group with a key of its own. Whoever must hold the "
        "key of the log names it: services.endpoint.kms_key_arn.",
    ),
    Waiver(
        rule="*-SageMakerNotebookNoDirectInternetAccess",
        path="*-notebook/Notebook/Instance",
        beside="*-notebook/Notebook/DirectInternet",
        reason="The environment file asks for it with direct_internet: whoever reviews that line "
        "sees it.",
    ),
    *(
        Waiver(
            rule="*-RDSLoggingEnabled",
            detail=f"LogExport::{log}",
            path="*-database/Records/Server",
            reason="Errors and slow statements are exported. This log would copy every statement "
            "of slurmdbd, with names of users and jobs, to a place that more people read.",
        )
        for log in ("audit", "general")
    ),
)
