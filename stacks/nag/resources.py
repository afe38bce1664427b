"""Accepted findings on what stacks hold: networks, databases, buckets, logs, services.

In the order in which stacks are deployed. Where a rule begins with a star, the entry holds for all
packs that have such a rule.
"""

from __future__ import annotations

from slurmpod_cdk.nag.waiver import Waiver

RESOURCES = (
    *(
        Waiver(
            rule,
            path="*-network/Network/Vpc/Resource",
            without="*-network/Network/Vpc/FlowLog/FlowLog",
            reason="The environment file switches flow logs off: rule FLO-001 has warned, and "
            "whoever accepts that writes the reason beside it.",
        )
        for rule in ("AwsSolutions-VPC7", "*-VPCFlowLogsEnabled")
    ),
    Waiver(
        rule="*-CloudWatchLogGroupEncrypted",
        path="*-network/Network/FlowLogs/Resource",
        without="*-network/Network/FlowLogsKey",
        reason="CloudWatch Logs encrypts every group with a key of its own. Whoever must hold the "
        "key of the flow logs names it: network.flow_logs.kms_key_arn.",
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
        rule="AwsSolutions-RDS11",
        path="*-database/Records/Server",
        reason="Another port would hide nothing: only the nodes' security groups reach the server, "
        "and jobs on nodes would find it. Where several controllers share a database, HyperPod has "
        "no place to name a port.",
    ),
    *(
        Waiver(
            rule,
            path="*-database/Records/Server",
            without="*-database/Records/Standby",
            reason="The environment file decides with multi_az. While a single server is away, "
            "jobs run and slurmctld keeps their records, as many as its MaxDBDMsgs, to send "
            "them afterwards. If its zone is lost, the server is restored from RDS's "
            "backups, without the last minutes.",
        )
        for rule in ("AwsSolutions-RDS3", "*-RDSMultiAZSupport")
    ),
    *(
        Waiver(
            rule,
            path="*-database/Records/Server",
            without="*-database/Records/DeletionProtection",
            reason="The environment file decides with slurm.rds.on_delete that the server goes "
            "with its stack. A server that RDS protects could not, and its stack would stay "
            "with it; with snapshot, a last one is kept. The default, retain, protects it.",
        )
        for rule in ("AwsSolutions-RDS10", "*-RDSInstanceDeletionProtectionEnabled")
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
        rule="*-CloudWatchLogGroupEncrypted",
        path="*-database/Records/*Log",
        without="*-database/Records/Key",
        reason="CloudWatch Logs encrypts every group with a key of its own. Whoever must hold the "
        "key of the database and its logs names it: slurm.rds.kms_key_arn.",
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
        reason="It is itself the dead-letter queue, of the EventBridge rules; cdk-nag looks for "
        "queues that name it, and rules are none. An alarm tells of every message in it.",
    ),
    Waiver(
        rule="AwsSolutions-S1",
        path="*-lifecycle/Scripts/Bucket/Resource",
        reason="The bucket holds generated scripts and settings: names, ids and public keys of "
        "people, but no data of theirs and no secrets. Of all that slurmpod makes only the "
        "deployment can write to it, and every write is kept as a version. Who reads such files "
        "does not matter enough for a second retained bucket; who writes them does, because nodes "
        "run them as root: CloudTrail data events record that where a policy asks.",
    ),
    Waiver(
        rule="*-S3BucketLoggingEnabled",
        path="*-lifecycle/Scripts/Bucket/Resource",
        reason="As for AwsSolutions-S1: generated scripts, of which every version is kept and "
        "which, of what slurmpod makes, only the deployment can write. CloudTrail data events "
        "record who else does, where a policy asks.",
    ),
    Waiver(
        rule="*-S3BucketReplicationEnabled",
        path="*-lifecycle/Scripts/Bucket/Resource",
        reason="The content is generated from the environment file: the next deployment, in this "
        "Region or another, makes it again byte for byte.",
    ),
    Waiver(
        rule="*-S3DefaultEncryptionKMS",
        path="*-lifecycle/Scripts/Bucket/Resource",
        reason="S3 encrypts the objects with its own keys. They hold scripts and settings: names, "
        "ids and public keys of people, but no data of theirs and no secrets. A key of KMS would "
        "be one more thing that new nodes need.",
    ),
    Waiver(
        rule="AwsSolutions-S1",
        path="*-access/Records/Bucket/Resource",
        reason="The bucket is itself a record. Of what slurmpod makes, nodes can only add to it "
        "and the policy for administrators only reads, both with a key of their own. CloudTrail "
        "data events tell each access where a policy asks; uses of the key do not, because S3 "
        "keeps a bucket key for a while.",
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
        path="*-access/Records/Bucket/Resource",
        reason="Records of sessions belong to the cluster's Region; a copy in another would move "
        "what people typed out of it. S3 keeps them in three zones, versioned.",
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
        rule="AwsSolutions-SM3",
        path="*-notebook/Notebook/Instance",
        beside="*-notebook/Notebook/DirectInternet",
        reason="The environment file asks for it with direct_internet: whoever reviews that line "
        "sees it. The default reaches what the network lets it reach.",
    ),
    Waiver(
        rule="*-SageMakerNotebookNoDirectInternetAccess",
        path="*-notebook/Notebook/Instance",
        beside="*-notebook/Notebook/DirectInternet",
        reason="The environment file asks for it with direct_internet: whoever reviews that line "
        "sees it.",
    ),
)
