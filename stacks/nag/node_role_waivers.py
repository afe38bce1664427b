"""The findings of cdk-nag's AwsSolutions pack on the roles of the nodes that this project accepts.

They are all about stars in policies. docs/permissions.md has every statement with its source, and
docs/threat-model.md says what a job on a node can do with them.
"""

from __future__ import annotations

from slurmpod_cdk.nag.waivers import HERE, NAME, Waiver

_EXECUTION_ROLE = "*-identity/*/Role/Resource"

NODE_ROLE_WAIVERS = (
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
)
