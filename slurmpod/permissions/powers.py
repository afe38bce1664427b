"""Rights of a node's users beyond their cluster, each in plain words. Pure.

Anyone who runs something on a node has the permissions of the node's role. Only definite
permissions are reported: a statement with a condition that is unknown beforehand allows nothing
here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from embedded_aws.iam import Policies, Policy, Request, evaluate
from slurmpod.resolve import Resolved
from slurmpod.value import Value

ANY = "any-name-at-all"
"""Placeholder for any resource of the account: a policy that allows this name allows all."""

OF_AWS: Mapping[str, str] = {
    "AdministratorAccess": "do anything in the account",
    "PowerUserAccess": "do anything in the account but manage its users and roles",
    "IAMFullAccess": "give themselves any right in the account",
    "AmazonS3FullAccess": "read, change and delete everything in all buckets of the account, also "
    "the scripts that nodes run as root",
    "AmazonSageMakerFullAccess": "change the scripts that nodes run as root: buckets with "
    "'sagemaker' in their names are open to it",
    "AmazonEC2FullAccess": "end every instance of the account, and open every security group",
    "AmazonFSxFullAccess": "delete every file system of the account",
    "AmazonSSMFullAccess": "run commands as root on every machine of Systems Manager",
    "SecretsManagerReadWrite": "read and change every secret of the account",
}
"""Powers of an AWS managed policy, by its name (AWS managed policy reference)."""


class Power(Value):
    """A power of users: the description, the action, and the resource that was checked."""

    what: str
    action: str
    resource: str


def powers_of(
    policies: Sequence[Policy], resolved: Resolved, *, bounds: Sequence[Policy] = ()
) -> tuple[Power, ...]:
    """Return the powers beyond the cluster that a role's policies give, within its boundary."""
    everything = Policies(policies, {"boundary": bounds} if bounds else {})
    if all(_allowed(everything, each) for each in _sign_of_all(resolved)):
        return (Power("do anything in the account", "*", "*"),)
    return tuple(each for each in _asked(resolved) if _allowed(everything, each))


def _allowed(policies: Policies, power: Power) -> bool:
    return evaluate(Request(power.action, power.resource), policies).allowed


def _sign_of_all(resolved: Resolved) -> Iterator[Power]:
    """Yield two actions so unrelated that a policy with both allows everything."""
    user = f"arn:{resolved.aws_partition}:iam::{resolved.account}:user/{ANY}"
    yield Power("", "iam:CreateUser", user)
    yield Power("", "organizations:LeaveOrganization", "*")


def _asked(resolved: Resolved) -> Iterator[Power]:
    """Yield the powers to check, the worst first."""
    partition, account = resolved.aws_partition, resolved.account
    iam = f"arn:{partition}:iam::{account}"
    for action in ("AttachRolePolicy", "PutRolePolicy", "UpdateAssumeRolePolicy"):
        yield Power("give themselves any right", f"iam:{action}", f"{iam}:role/{ANY}")
    yield Power("act as any user of the account", "iam:CreateAccessKey", f"{iam}:user/{ANY}")
    yield Power("start programs with any role of the account", "iam:PassRole", f"{iam}:role/{ANY}")
    yield Power("become every role that trusts the account", "sts:AssumeRole", f"{iam}:role/{ANY}")
    lifecycle = resolved.lifecycle
    scripts = f"{resolved.bucket_arn(lifecycle.bucket)}/{lifecycle.prefix}/{ANY}"
    yield Power("change the scripts that nodes run as root", "s3:PutObject", scripts)
    objects = f"{resolved.bucket_arn(ANY)}/{ANY}"
    yield Power("read every bucket of the account", "s3:GetObject", objects)
    yield Power("change every bucket of the account", "s3:PutObject", objects)
    yield Power("delete what is in every bucket of the account", "s3:DeleteObject", objects)
    secret = resolved.arn("secretsmanager", f"secret:{ANY}")
    yield Power("read every secret of the account", "secretsmanager:GetSecretValue", secret)
    instance = resolved.arn("ec2", f"instance/{ANY}")
    yield Power("end every instance of the account", "ec2:TerminateInstances", instance)
    yield Power("run commands as root on every machine", "ssm:SendCommand", instance)
    cluster = resolved.arn("sagemaker", f"cluster/{ANY}")
    yield Power("delete every cluster of the account", "sagemaker:DeleteCluster", cluster)
    files = resolved.arn("fsx", f"file-system/{ANY}")
    yield Power("delete every file system of the account", "fsx:DeleteFileSystem", files)
