"""Accepted findings on resources: networks, databases, buckets, logs, services.

In the order in which stacks are deployed. If a rule begins with a star, the entry applies to all
packs with that rule.
"""

from __future__ import annotations

from slurmpod_cdk.nag.waiver import Waiver

RESOURCES = (
    *(
        Waiver(
            rule,
            path="*-network/Network/Vpc/Resource",
            without="*-network/Network/Vpc/FlowLog/FlowLog",
            reason="The environment file disables flow logs: rule FLO-001 warns about it, and the "
            "waiver of that warning states the reason.",
        )
        for rule in ("AwsSolutions-VPC7", "*-VPCFlowLogsEnabled")
    ),
    Waiver(
        rule="*-CloudWatchLogGroupEncrypted",
        path="*-network/Network/FlowLogs/Resource",
        without="*-network/Network/FlowLogsKey",
        reason="CloudWatch Logs encrypts every group with its own key. To use your key for the "
        "flow logs, set network.flow_logs.kms_key_arn.",
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
        reason="The rule lets only members of the security group, nodes and file systems, reach "
        "each other. EFA works only when all traffic between them is allowed, and HyperPod tests "
        "that. Ports of a job are therefore open to other nodes, but not beyond.",
    ),
    Waiver(
        rule="AwsSolutions-RDS11",
        path="*-database/Records/Server",
        reason="Another port would hide nothing: only the nodes' security groups reach the server, "
        "and jobs on nodes would find it. If several controllers share a database, HyperPod has no "
        "setting for the port.",
    ),
    *(
        Waiver(
            rule,
            path="*-database/Records/Server",
            without="*-database/Records/Standby",
            reason="The environment file sets multi_az. While a single server is down, jobs run "
            "and slurmctld queues their records, up to its MaxDBDMsgs, to send them "
            "afterwards. If its zone is lost, the server is restored from RDS's backups, "
            "without the last minutes.",
        )
        for rule in ("AwsSolutions-RDS3", "*-RDSMultiAZSupport")
    ),
    *(
        Waiver(
            rule,
            path="*-database/Records/Server",
            without="*-database/Records/DeletionProtection",
            reason="slurm.rds.on_delete in the environment file deletes the server with its "
            "stack. Deletion protection would block the deletion of both; with snapshot, a "
            "final snapshot is kept. The default, retain, protects the server.",
        )
        for rule in ("AwsSolutions-RDS10", "*-RDSInstanceDeletionProtectionEnabled")
    ),
    Waiver(
        rule="*-RDSEnhancedMonitoringEnabled",
        path="*-database/Records/Server",
        reason="The database has one client, slurmdbd. Storage, connections and load are in "
        "CloudWatch without it, and slurmdbd's log reports slow responses.",
    ),
    Waiver(
        rule="*-RDSInBackupPlan",
        path="*-database/Records/Server",
        reason="RDS itself keeps backups, from which every second of the last days can be "
        "restored (slurm.rds.backup_retention_days). An AWS Backup plan can select it by tag.",
    ),
    Waiver(
        rule="*-CloudWatchLogGroupEncrypted",
        path="*-database/Records/*Log",
        without="*-database/Records/Key",
        reason="CloudWatch Logs encrypts every group with its own key. To use your key for the "
        "database and its logs, set slurm.rds.kms_key_arn.",
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
    Waiver(
        rule="AwsSolutions-SQS3",
        path="*-monitoring/Events/Undelivered/Resource",
        reason="It is itself the dead-letter queue of the EventBridge rules; cdk-nag looks for "
        "queues that refer to it, but not for rules. An alarm reports every message in it.",
    ),
    Waiver(
        rule="AwsSolutions-S1",
        path="*-lifecycle/Scripts/Bucket/Resource",
        reason="The bucket holds generated scripts and settings: names, ids and public keys of "
        "people, but no user data and no secrets. Among the roles of slurmpod, only the deployment "
        "can write to it, and every write is kept as a version. A log of reads does not justify a "
        "second retained bucket; writes matter, because nodes run the files as root: CloudTrail "
        "data events can record them if a policy requires it.",
    ),
    Waiver(
        rule="*-S3BucketLoggingEnabled",
        path="*-lifecycle/Scripts/Bucket/Resource",
        reason="As for AwsSolutions-S1: generated scripts, of which every version is kept and "
        "which, among the roles of slurmpod, only the deployment can write. CloudTrail data events "
        "can record other writers if a policy requires it.",
    ),
    Waiver(
        rule="*-S3BucketReplicationEnabled",
        path="*-lifecycle/Scripts/Bucket/Resource",
        reason="The content is generated from the environment file: the next deployment, in this "
        "Region or another, recreates it byte for byte.",
    ),
    Waiver(
        rule="*-S3DefaultEncryptionKMS",
        path="*-lifecycle/Scripts/Bucket/Resource",
        reason="S3 encrypts the objects with its own keys. They hold scripts and settings: names, "
        "ids and public keys of people, but no user data and no secrets. A KMS key would be an "
        "additional dependency of new nodes.",
    ),
    Waiver(
        rule="AwsSolutions-S1",
        path="*-access/Records/Bucket/Resource",
        reason="The bucket is itself an audit record. In slurmpod's policies, nodes can only add "
        "to it and administrators can only read it, both with a separate key. CloudTrail data "
        "events can record each access if a policy requires it; uses of the key do not show it, "
        "because S3 caches a bucket key for some time.",
    ),
    Waiver(
        rule="*-S3BucketLoggingEnabled",
        path="*-access/Records/Bucket/Resource",
        reason="The bucket is itself an audit record. In slurmpod's policies, nodes can only add "
        "to it and administrators can only read it; CloudTrail data events can record each access "
        "if a policy requires it.",
    ),
    Waiver(
        rule="*-S3BucketReplicationEnabled",
        path="*-access/Records/Bucket/Resource",
        reason="Session records belong to the cluster's Region; a copy in another Region would "
        "move recorded input out of it. S3 stores them in three zones, versioned.",
    ),
    Waiver(
        rule="*-SageMakerEndpointConfigurationKMSKeyConfigured",
        path="*-endpoint/Endpoint/Configuration",
        without="*-endpoint/Endpoint/VolumeKey",
        reason="The volumes hold a copy of the model and no data; AWS encrypts them with its own "
        "key, and instances with local disks encrypt these in hardware and accept no key. To use "
        "your key for volumes, set services.endpoint.kms_key_arn.",
    ),
    Waiver(
        rule="*-CloudWatchLogGroupEncrypted",
        path="*-endpoint/Endpoint/Log",
        without="*-endpoint/Endpoint/LogKey",
        reason="CloudWatch Logs encrypts every group with its own key. To use your key for the "
        "log, set services.endpoint.kms_key_arn.",
    ),
    Waiver(
        rule="AwsSolutions-SM3",
        path="*-notebook/Notebook/Instance",
        beside="*-notebook/Notebook/DirectInternet",
        reason="The environment file requests it with direct_internet, where reviewers of the file "
        "see it. By default the notebook reaches only what the network allows.",
    ),
    Waiver(
        rule="*-SageMakerNotebookNoDirectInternetAccess",
        path="*-notebook/Notebook/Instance",
        beside="*-notebook/Notebook/DirectInternet",
        reason="The environment file requests it with direct_internet, where reviewers of the file "
        "see it.",
    ),
)
