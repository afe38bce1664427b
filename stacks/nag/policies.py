"""Accepted findings on IAM policies of nodes, people, endpoints and notebooks.

Most are about stars. docs/permissions.md has every statement of the nodes' roles with its source,
and docs/threat-model.md says what a job on a node can do with them.
"""

from __future__ import annotations

from slurmpod_cdk.nag.waiver import HERE, NAME, Waiver

_EXECUTION_ROLE = "*-identity/*/Role/Resource"
_INLINE_BELONGS_TO_ONE_ROLE = (
    "The policy belongs to this role only and is deleted with it. A managed policy could be "
    "attached to other roles, outlive the role and be changed independently."
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
        reason="The environment file requests this AWS managed policy by its ARN, where reviewers "
        "of the file see it. slurmpod itself attaches none to the role.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:ec2:{HERE}:network-interface/[*]",
        path=_EXECUTION_ROLE,
        reason="HyperPod creates a node's network interfaces at runtime, so their ids are not "
        "known in advance, and documents no condition that identifies them. New ones can only be "
        "created in the cluster's subnets with its security groups. The remaining risk is that "
        "other interfaces in this account and Region can be detached, deleted and shared: "
        "workloads that must not share that risk belong in another account.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail="Resource::[*]",
        path=_EXECUTION_ROLE,
        reason="Actions for which IAM has no narrower resource, with one exception: CloudWatch "
        "shows composite alarms only to callers who may see all. docs/permissions.md lists each "
        "with its source; a condition limits metrics to HyperPod's namespace.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:ec2:{NAME}:[*]:instance/[*]",
        path=_EXECUTION_ROLE,
        reason="Detaching an interface also requires the instance, which is in an account of the "
        "service. Without the interface, which must be in this account, it allows nothing.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:logs:{HERE}:log-group:/aws/sagemaker/Clusters/{NAME}/[*]",
        path=_EXECUTION_ROLE,
        reason="The log group of this cluster, whose name ends with an id that HyperPod generates "
        "when it creates the cluster. Only creation, and only for clusters of this name.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:logs:{HERE}:log-group:/aws/sagemaker/Clusters/{NAME}/[*]"
        ":log-stream:[*]",
        path=_EXECUTION_ROLE,
        reason="The log streams of clusters of this name, one for each node and agent, including "
        "future nodes. Only writing and listing: nodes cannot read or delete entries.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:logs:{HERE}:log-group:/slurmpod/{NAME}/sessions:[*]",
        path=_EXECUTION_ROLE,
        beside="*-access/Records/LogGroup",
        reason="One log group, that of recorded sessions; each session has a separate stream. In "
        "policies, CloudWatch Logs uses the star for the streams of a group. Only writing and "
        "listing: nodes cannot read or delete entries.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:s3:::{NAME}/sessions/[*]",
        path=_EXECUTION_ROLE,
        beside="*-access/Records/Bucket/Resource",
        reason="Session records, which are named after the sessions. Nodes can add records, but "
        "neither read nor delete any.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:s3:::{NAME}/lifecycle/[*]",
        path=_EXECUTION_ROLE,
        beside="*-lifecycle/Scripts/Bucket/Resource",
        reason="Only reading, of the lifecycle scripts under their prefix. Their content hash is "
        "part of the key and changes while nodes with the previous hash still start.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:s3:::{NAME}/*[*]",
        path="*-identity/*/Buckets/Resource",
        reason="Objects in the buckets and below the prefixes that the environment names: nodes "
        "mount them as folders, whose files are not known in advance. Nodes cannot delete objects; "
        "without read_only they can overwrite them, which versioning of the bucket can undo.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:s3:::{NAME}/*[*]",
        path="*-identity/*/DataBuckets/Resource",
        reason="Objects in the buckets and below the prefixes that the environment names: the "
        "files of jobs are not known in advance. Objects can be written and deleted only where "
        "the environment says 'access: write'.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail="Resource::[*]",
        path="*-cluster-watch/NodeCount/Role/Resource",
        reason="cloudwatch:PutMetricData does not support resources. The condition limits it to "
        "the namespace of slurmpod's metrics.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail="Resource::[*]",
        path="*-access/Users/Resource",
        reason="Amazon Message Gateway Service does not support resources. Its only allowed action "
        "carries a started session, which StartSession allows with one document on one "
        "cluster only.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail="Resource::[*]",
        path="*-access/Administrators/Resource",
        reason="Listing sessions, reading the results of a query by its id and Amazon Message "
        "Gateway Service do not support resources. Log queries and new sessions are limited to "
        "one cluster; the existence of sessions on other machines is visible.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:ssm:{HERE}:session/[*]",
        path="*-access/Users/Resource",
        reason="Session ids are generated when sessions start. A condition on the tag that Session "
        "Manager sets limits users to their own sessions.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:ssm:{HERE}:session/[*]",
        path="*-access/Administrators/Resource",
        reason="Session ids are generated when sessions start. Conditions on the tags that Session "
        "Manager sets limit administrators to their own sessions and those on this cluster.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:logs:{HERE}:log-group:{NAME}:[*]",
        path="*-access/Administrators/Resource",
        reason="The streams of the log group of this cluster's nodes and of its session log group, "
        "if any, including those of future nodes and sessions. Only reading.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:s3:::{NAME}/sessions/[*]",
        path="*-access/Administrators/Resource",
        beside="*-access/Records/Bucket/Resource",
        reason="Session records, which are named after the sessions. Only reading, in a bucket "
        "that holds nothing else.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail="Resource::[*]",
        path="*-endpoint/Endpoint/Role/Resource",
        reason="Describing networks, logging in to ECR and CloudWatch's PutMetricData do not "
        "support resources; a condition limits metrics to the two namespaces of endpoints.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:ec2:{HERE}:network-interface/[*]",
        path="*-endpoint/Endpoint/Role/Resource",
        reason="SageMaker creates the interfaces of the endpoint's instances at runtime, so their "
        "ids are not known in advance. New ones can only be created in the environment's "
        "subnets with its security groups.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:logs:{HERE}:log-group:/aws/sagemaker/Endpoints/{NAME}"
        ":log-stream:[*]",
        path="*-endpoint/Endpoint/Role/Resource",
        reason="The log streams of this endpoint only, one for each instance, including future "
        "ones. Only writing and listing: entries cannot be read or deleted.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:s3:::{NAME}/{NAME}/[*]",
        path="*-endpoint/Endpoint/Role/Resource",
        beside="*-endpoint/Endpoint/ModelFolder",
        reason="The model is a folder of files, and the environment file names the folder. Only "
        "reading, and nothing else in the bucket.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail="Resource::[*]",
        path="*-notebook/Notebook/Role/Resource",
        reason="Describing subnets and interfaces in EC2 does not support resources.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:ec2:{HERE}:network-interface/[*]",
        path="*-notebook/Notebook/Role/Resource",
        reason="SageMaker creates the instance's interface at runtime, so its id is not known in "
        "advance. New ones can only be created in the environment's own subnets with its own "
        "security groups.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail=f"Resource::arn:*:logs:{HERE}:log-group:/aws/sagemaker/NotebookInstances"
        f":log-stream:{NAME}/[*]",
        path="*-notebook/Notebook/Role/Resource",
        reason="The log streams of this notebook instance only. Only writing and listing: entries "
        "cannot be read or deleted.",
    ),
    *(
        Waiver("*-IAMNoInlinePolicy", path, _INLINE_BELONGS_TO_ONE_ROLE)
        for path in _ROLES_WITH_INLINE_POLICIES
    ),
)
