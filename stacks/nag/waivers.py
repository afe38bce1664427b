"""The findings of cdk-nag's AwsSolutions pack that this project accepts, and why.

For a security review; `node_role_waivers` has those of the roles of nodes and `standard_waivers`
those of the other packs. `review` fails on a finding that is in none of them and on an entry that
no longer has a finding. What remains open where something is accepted is in docs/threat-model.md.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Waiver:
    """One accepted finding.

    `rule` is the plain id, or a glob for the same rule of several packs. `detail` is a glob for
    what cdk-nag writes in brackets behind it, such as the policy or the resource, where a literal
    star is written [*]. `path` is a glob for the construct, in which a star stays within one part
    of the path. `beside` is a glob for another construct, where the finding only comes up together
    with that one; `without` is one for a construct whose absence is the finding. Where that is
    otherwise, nothing is accepted.
    """

    rule: str
    path: str
    reason: str
    detail: str = ""
    beside: str = "*"
    without: str = ""


NAME = "[!*]*"
"""A name, or what stands for one: not a star itself, which would mean all."""

HERE = f"{NAME}:{'[0-9]' * 12}"
"""One Region and one account, as ARNs have them."""

_DEPLOYMENT_ROLE = "*-lifecycle/Custom::CDKBucketDeployment*/ServiceRole/Resource"
_DEPLOYMENT_POLICY = "*-lifecycle/Custom::CDKBucketDeployment*/ServiceRole/DefaultPolicy/Resource"

ONE_SERVER = (
    "The environment file decides with multi_az. While a single server is away, jobs run and "
    "slurmctld keeps their records, as many as its MaxDBDMsgs, to send them afterwards. If its "
    "zone is lost, the server is restored from RDS's backups, without the last minutes."
)
GOES_WITH_ITS_STACK = (
    "The environment file decides with slurm.rds.on_delete that the server goes with its stack. A "
    "server that RDS protects could not, and its stack would stay with it; with snapshot, a last "
    "one is kept. The default, retain, protects it."
)
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

WAIVERS = (
    Waiver(
        rule="AwsSolutions-VPC7",
        path="*-network/Network/Vpc/Resource",
        without="*-network/Network/Vpc/FlowLog/FlowLog",
        reason="The environment file switches flow logs off: rule FLO-001 has warned, and whoever "
        "accepts that writes the reason beside it.",
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
        rule="AwsSolutions-IAM4",
        detail="Policy::arn:*:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole",
        path=_DEPLOYMENT_ROLE,
        reason=_WRITES_LOGS,
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
    Waiver(
        rule="AwsSolutions-L1",
        path="*-lifecycle/Custom::CDKBucketDeployment*/Resource",
        reason="CDK's own bucket deployment function runs on the Python version that the pinned "
        "aws-cdk-lib was tested with, and moves with that pin. It runs during deployments only.",
    ),
    Waiver(
        rule="AwsSolutions-IAM4",
        detail="Policy::arn:*:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole",
        path="*-storage/AWS679f53fac002430cb0da5b7982bd2287/ServiceRole/Resource",
        reason=_WRITES_LOGS,
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail="Resource::[*]",
        path="*-access/Users/Resource",
        reason="Amazon Message Gateway Service knows no resources. Its one action that is allowed "
        "carries a session that has begun, which StartSession allows with one document on one "
        "cluster only.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail="Resource::[*]",
        path="*-access/Administrators/Resource",
        reason="Listing sessions, reading the results of a query by its id and Amazon Message "
        "Gateway Service know no resources. Which logs can be asked and where sessions can be "
        "opened is bound to one cluster; that sessions on other machines exist can be seen.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:ssm:{HERE}:session/[*]",
        path="*-access/Users/Resource",
        reason="The ids of sessions are made when these begin. A condition on the tag that Session "
        "Manager gives them leaves everybody their own.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:ssm:{HERE}:session/[*]",
        path="*-access/Administrators/Resource",
        reason="The ids of sessions are made when these begin. Conditions on the tags that Session "
        "Manager gives them leave administrators their own and those on this cluster.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:logs:{HERE}:log-group:{NAME}:[*]",
        path="*-access/Administrators/Resource",
        reason="The streams of the log group of this cluster's nodes and, where there is one, of "
        "that of its sessions; nodes and sessions to come will have streams, too. Reading only.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:s3:::{NAME}/sessions/[*]",
        path="*-access/Administrators/Resource",
        beside="*-access/Records/Bucket/Resource",
        reason="Records of sessions, which are named after these. Reading only, in a bucket that "
        "holds nothing else.",
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
        rule="AwsSolutions-IAM4",
        detail="Policy::arn:*:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole",
        path="*-cluster-watch/AWS679f53fac002430cb0da5b7982bd2287/ServiceRole/Resource",
        reason=_WRITES_LOGS,
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:logs:{HERE}:log-group:{NAME}:[*]",
        path="*-cluster-watch/Logs/*/CustomResourcePolicy/Resource",
        reason="One log group, that of the cluster. The star is how CloudWatch Logs writes the "
        "ARN of a log group in policies: it stands for its streams.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail="Resource::[*]",
        path="*-cluster-watch/NodeCount/Role/Resource",
        reason="cloudwatch:PutMetricData knows no resources. The condition limits it to the one "
        "namespace of slurmpod's own metrics.",
    ),
    Waiver(
        rule="AwsSolutions-SQS3",
        path="*-monitoring/Events/Undelivered/Resource",
        reason="It is itself the dead-letter queue, of the EventBridge rules; cdk-nag looks for "
        "queues that name it, and rules are none. An alarm tells of every message in it.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail="Resource::[*]",
        path="*-endpoint/Endpoint/Role/Resource",
        reason="Describing networks, logging in to ECR and CloudWatch's PutMetricData know no "
        "resources; metrics are bound by a condition to the two namespaces of endpoints.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:ec2:{HERE}:network-interface/[*]",
        path="*-endpoint/Endpoint/Role/Resource",
        reason="SageMaker creates the interfaces of the endpoint's instances while it runs, so "
        "their ids are not known before. New ones can only be created in the environment's own "
        "subnets with its own security groups.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:logs:{HERE}:log-group:/aws/sagemaker/Endpoints/{NAME}"
        ":log-stream:[*]",
        path="*-endpoint/Endpoint/Role/Resource",
        reason="The log streams of this one endpoint, one for each instance, also of those to "
        "come. Adding to them and listing them; nothing is read or deleted.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:s3:::{NAME}/{NAME}/[*]",
        path="*-endpoint/Endpoint/Role/Resource",
        beside="*-endpoint/Endpoint/ModelFolder",
        reason="The model is a folder of files, of which the environment file names the folder. "
        "Reading only, and nothing beside it in the bucket.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail="Resource::[*]",
        path="*-notebook/Notebook/Role/Resource",
        reason="Describing subnets and interfaces in EC2 can be bound to no resource.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:ec2:{HERE}:network-interface/[*]",
        path="*-notebook/Notebook/Role/Resource",
        reason="SageMaker creates the instance's interface while it runs, so its id is not known "
        "before. New ones can only be created in the environment's own subnets with its own "
        "security groups.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:logs:{HERE}:log-group:/aws/sagemaker/NotebookInstances"
        f":log-stream:{NAME}/[*]",
        path="*-notebook/Notebook/Role/Resource",
        reason="The log streams of this one notebook instance. Adding to them and listing them; "
        "nothing is read or deleted.",
    ),
    Waiver(
        rule="AwsSolutions-SM3",
        path="*-notebook/Notebook/Instance",
        beside="*-notebook/Notebook/DirectInternet",
        reason="The environment file asks for it with direct_internet: whoever reviews that line "
        "sees it. The default reaches what the network lets it reach.",
    ),
    Waiver(
        rule="AwsSolutions-RDS11",
        path="*-database/Records/Server",
        reason="Another port would hide nothing: only the nodes' security groups reach the server, "
        "and jobs on nodes would find it. Where several controllers share a database, HyperPod has "
        "no place to name a port.",
    ),
    Waiver(
        rule="AwsSolutions-RDS3",
        path="*-database/Records/Server",
        without="*-database/Records/Standby",
        reason=ONE_SERVER,
    ),
    Waiver(
        rule="AwsSolutions-RDS10",
        path="*-database/Records/Server",
        without="*-database/Records/DeletionProtection",
        reason=GOES_WITH_ITS_STACK,
    ),
)
