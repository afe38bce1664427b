"""The `identity` section: the roles of the nodes, and what they may use beside the environment."""

from typing import Annotated, Literal

from pydantic import Field

from slurmpod.model.base import Section
from slurmpod.model.names import BucketName, KmsKeyArn

MANAGED_POLICIES_OF_A_ROLE = 10
"""What a role takes by default; an account can have twice as many (IAM user guide, quotas)."""

RoleArn = Annotated[
    str,
    Field(
        pattern=r"^arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]{1,512}$",
        examples=["arn:aws:iam::123456789012:role/hyperpod-nodes"],
    ),
]
PolicyArn = Annotated[
    str,
    Field(
        pattern=r"^arn:aws[a-z-]*:iam::([0-9]{12}|aws):policy/[A-Za-z0-9+=,.@_/-]{1,512}$",
        examples=["arn:aws:iam::123456789012:policy/boundary"],
    ),
]
PolicyFile = Annotated[
    str, Field(pattern=r"^[^\x00]+$", max_length=1024, examples=["policies/boundary.json"])
]


class DataBucket(Section):
    """A bucket that nodes and jobs use through the AWS API."""

    bucket: BucketName
    """Name of the bucket."""

    prefix: Annotated[
        str | None,
        Field(pattern=r"^[A-Za-z0-9!_.'()/-]+/$", max_length=900, examples=["datasets/"]),
    ] = None
    """Only what is below; ends with a slash. Default: the whole bucket."""

    access: Literal["read", "write"] = "read"
    """Whether nodes only read objects, or create and delete them, too."""

    kms_key_arn: KmsKeyArn | None = None
    """Key of the bucket, where it has one of yours."""


class PermissionsBoundary(Section):
    """The most that roles of this environment can ever be allowed."""

    policy_arn: PolicyArn
    """The managed policy that bounds them."""

    policy_file: PolicyFile | None = None
    """A copy of its document as JSON, relative to this file; when written, slurmpod checks that it
    lets nodes do what they must."""


class ExistingRoles(Section):
    """Roles that somebody else made for the nodes, in place of slurmpod's own."""

    controller: RoleArn
    """Role of the controller, and of all groups that have none below."""

    login: RoleArn | None = None
    """Role of login groups; default: that of the controller."""

    worker: RoleArn | None = None
    """Role of worker groups; default: that of the controller."""

    policy_files: tuple[PolicyFile, ...] = ()
    """Copies of the policies of these roles as JSON, relative to this file; when written, slurmpod
    checks that they suffice."""


class Identity(Section):
    """Roles of nodes: what the environment needs, and what is added here."""

    roles: Literal["one", "per_role"] = "one"
    """One role for all instance groups, or one each for controller, login and worker groups, with
    what these need."""

    existing: ExistingRoles | None = None
    """Roles of your own, in place of new ones."""

    permissions_boundary: PermissionsBoundary | None = None
    """The most that any role of this environment can be allowed."""

    data_buckets: Annotated[tuple[DataBucket, ...], Field(max_length=30)] = ()
    """Buckets that nodes and jobs use, beside those that the environment mounts."""

    image_repositories: Annotated[
        tuple[
            Annotated[
                str,
                Field(
                    pattern=r"^[a-z0-9]+([._/-][a-z0-9]+)*$",
                    max_length=256,
                    examples=["training/pytorch"],
                ),
            ],
            ...,
        ],
        Field(max_length=50),
    ] = ()
    """Repositories of this account's ECR from which nodes pull container images."""

    policy_arns: Annotated[tuple[PolicyArn, ...], Field(max_length=20)] = ()
    """Further managed policies for the roles of the nodes."""
