"""Accepted findings on policies of IAM: of nodes, people, endpoints and notebooks.

Most are about stars. docs/permissions.md has every statement of the nodes' roles with its source,
and docs/threat-model.md says what a job on a node can do with them.
"""

from __future__ import annotations

from slurmpod_cdk.nag.waiver import HERE, NAME, Waiver

_EXECUTION_ROLE = "*-identity/*/Role/Resource"
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

POLICIES = (
    Waiver(
        rule="AwsSolutions-IAM4",
        detail="Policy::arn:*:iam::aws:policy/*",
        path=_EXECUTION_ROLE,
        beside="*-identity/*/OfAws*",
        reason="The environment file asks for this policy of AWS by its ARN: whoever reviews that "
        "line sees it. slurmpod itself puts none on the role.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:ec2:{HERE}:network-interface/[*]",
        path=_EXECUTION_ROLE,
        reason="HyperPod creates a node's network interfaces while it runs, so their ids are not "
        "known before, and documents no condition that tells them apart. New ones can only be "
        "created in the cluster's own subnets with its own security groups. Open remains that "
        "interfaces of others in this account and Region can be detached, deleted and lent: what "
        "must not share that risk belongs in another account.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail="Resource::[*]",
        path=_EXECUTION_ROLE,
        reason="Actions for which IAM knows no narrower resource, but for one: CloudWatch shows "
        "composite alarms to nobody who may see less than all. docs/permissions.md lists each with "
        "its source; metrics are bound to HyperPod's namespace by a condition.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:ec2:{NAME}:[*]:instance/[*]",
        path=_EXECUTION_ROLE,
        reason="Detaching an interface also names the instance, which lies in an account of the "
        "service. Without the interface, which must be of this account, it allows nothing.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:logs:{HERE}:log-group:/aws/sagemaker/Clusters/{NAME}/[*]",
        path=_EXECUTION_ROLE,
        reason="The log group of this cluster, whose name ends with an id that HyperPod makes up "
        "while it creates the cluster. Creating it, and none of a cluster with another name.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:logs:{HERE}:log-group:/aws/sagemaker/Clusters/{NAME}/[*]"
        ":log-stream:[*]",
        path=_EXECUTION_ROLE,
        reason="The log streams of clusters of this name, one for each node and agent, also of "
        "nodes to come. Adding to them and listing them; nodes read and delete no entry.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:logs:{HERE}:log-group:/slurmpod/{NAME}/sessions:[*]",
        path=_EXECUTION_ROLE,
        beside="*-access/Records/LogGroup",
        reason="One log group, that of recorded sessions; each session has a stream of its own. "
        "The star is how CloudWatch Logs writes the streams of a group. Nodes add to them and list "
        "them; they read and delete no entry.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:s3:::{NAME}/sessions/[*]",
        path=_EXECUTION_ROLE,
        beside="*-access/Records/Bucket/Resource",
        reason="Records of sessions, which are named after these. Nodes add them and can neither "
        "read nor delete any.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:s3:::{NAME}/lifecycle/[*]",
        path=_EXECUTION_ROLE,
        beside="*-lifecycle/Scripts/Bucket/Resource",
        reason="Reading, and only that, of the lifecycle scripts under their prefix. Their content "
        "hash is part of the key and changes while nodes with the earlier one still start.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:s3:::{NAME}/*[*]",
        path="*-identity/*/Buckets/Resource",
        reason="Objects of the buckets that the environment names, below the prefix that it names: "
        "nodes mount them as folders, whose files are not known before. None is deleted; without "
        "read_only one can be written over, which versions in the bucket undo.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:s3:::{NAME}/*[*]",
        path="*-identity/*/DataBuckets/Resource",
        reason="Objects of the buckets that the environment names, below the prefix that it names: "
        "what jobs read and write is not known before. Objects are written and deleted only where "
        "the environment says 'access: write'.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail="Resource::[*]",
        path="*-cluster-watch/NodeCount/Role/Resource",
        reason="cloudwatch:PutMetricData knows no resources. The condition limits it to the one "
        "namespace of slurmpod's own metrics.",
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
    *(
        Waiver("*-IAMNoInlinePolicy", path, _INLINE_BELONGS_TO_ONE_ROLE)
        for path in _ROLES_WITH_INLINE_POLICIES
    ),
)
