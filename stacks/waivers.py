"""The findings of cdk-nag's AwsSolutions pack that this project accepts, and why.

One table, so that a security review reads one page. `stacks.nag` fails on a finding that is not
here and on an entry that no longer has a finding.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Waiver:
    """One accepted finding.

    `rule` is the plain id; `detail` is a glob for what cdk-nag writes in brackets behind it, such
    as the policy or the resource, where a literal star is written [*]. `path` is a glob for the
    construct, in which a star stays within one part of the path.
    """

    rule: str
    path: str
    reason: str
    detail: str = ""


_EXECUTION_ROLE = "*-identity/Execution/Role/Resource"
_DEPLOYMENT_ROLE = "*-lifecycle/Custom::CDKBucketDeployment*/ServiceRole/Resource"
_DEPLOYMENT_POLICY = "*-lifecycle/Custom::CDKBucketDeployment*/ServiceRole/DefaultPolicy/Resource"

_DEPLOYMENT_READS = (
    "CDK's own bucket deployment function reads the bundle with it. The only resources of the "
    "statements are the bootstrap's asset bucket and the lifecycle bucket."
)
_DEPLOYMENT_WRITES = (
    "CDK's own bucket deployment function writes the bundle with it, to the lifecycle bucket "
    "alone. That bucket is versioned: what is overwritten or deleted can be seen and restored."
)

WAIVERS = (
    Waiver(
        rule="AwsSolutions-S1",
        path="*-lifecycle/Scripts/Bucket/Resource",
        reason="The bucket holds generated scripts and settings, no user data. Nothing but the "
        "deployment can write to it, every write is kept as a version, and the content hash in "
        "the prefix ties what a node ran to a commit. Who reads such files does not matter enough "
        "for a second retained bucket; CloudTrail data events record it where a policy asks.",
    ),
    Waiver(
        rule="AwsSolutions-IAM4",
        detail="Policy::arn:*:iam::aws:policy/AmazonSageMakerClusterInstanceRolePolicy",
        path=_EXECUTION_ROLE,
        reason="The policy that AWS requires on the execution role of a HyperPod cluster. AWS "
        "extends it when node agents need more; a copy would miss that and break nodes.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail="Resource::arn:*:ec2:*:*:network-interface/[*]",
        path=_EXECUTION_ROLE,
        reason="HyperPod creates a node's network interfaces while it runs, so their ids are not "
        "known before. Limited to this account and Region; new ones can only be created in the "
        "cluster's own subnet with its own security group.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail="Resource::[*]",
        path=_EXECUTION_ROLE,
        reason="The describe actions of EC2 know no resource-level permissions, FSx lists file "
        "systems under no narrower name, and detaching an interface also names the instance, "
        "which lies in an account of the service. As documented for HyperPod in a customer's VPC.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail="Resource::arn:*:s3:::*/lifecycle/[*]",
        path=_EXECUTION_ROLE,
        reason="Reading, and only that, of the lifecycle scripts under their prefix. Their content "
        "hash is part of the key and changes while nodes with the earlier one still start.",
    ),
    Waiver(
        rule="AwsSolutions-IAM4",
        detail="Policy::arn:*:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole",
        path=_DEPLOYMENT_ROLE,
        reason="CDK's own bucket deployment function; the policy allows writing its log only.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail="Resource::arn:*:s3:::cdk-*-assets-*/[*]",
        path=_DEPLOYMENT_POLICY,
        reason="CDK's own bucket deployment function reads assets, whose keys are content hashes, "
        "from the bootstrap's asset bucket.",
    ),
    Waiver(
        rule="AwsSolutions-IAM5",
        detail="Resource::<ScriptsBucket*.Arn>/[*]",
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
)
