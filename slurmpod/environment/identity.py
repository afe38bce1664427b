"""The `identity` section: roles of the nodes, and further resources that they may use."""

from typing import Annotated, Literal

from pydantic import Field

from slurmpod.environment.base import IN_PLACE, NOTHING, Effect, Kind, Section
from slurmpod.environment.names import BucketName, KmsKeyArn, SecretArn

MANAGED_POLICIES_OF_A_ROLE = 10
"""Default quota of a role; an account can have twice as many (IAM user guide, quotas)."""

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

ROLES_IN_PLACE = Effect(Kind.IN_PLACE, "roles are changed in place, for running nodes, too")


class DataBucket(Section):
    """A bucket that nodes and jobs use through the AWS API."""

    bucket: Annotated[BucketName, ROLES_IN_PLACE]
    """Name of the bucket."""

    prefix: Annotated[
        str | None,
        ROLES_IN_PLACE,
        Field(pattern=r"^[A-Za-z0-9!_.'()/-]+/$", max_length=900, examples=["datasets/"]),
    ] = None
    """Only objects below this prefix, which ends with a slash; default: the whole bucket."""

    access: Annotated[Literal["read", "write"], ROLES_IN_PLACE] = "read"
    """Whether nodes only read objects, or also create and delete them."""

    kms_key_arn: Annotated[KmsKeyArn | None, ROLES_IN_PLACE] = None
    """Key of the bucket, if it has your own."""


class JobSecret(Section):
    """A secret that jobs read when they start (`slurmpod job submit --secret`)."""

    secret_arn: Annotated[SecretArn, ROLES_IN_PLACE]
    """Secret in Secrets Manager; its text becomes a variable of the job."""

    secret_kms_key_arn: Annotated[KmsKeyArn | None, ROLES_IN_PLACE] = None
    """Key of the secret, which nodes are then allowed to use; default: AWS's own key."""


class PermissionsBoundary(Section):
    """Upper bound of the permissions of this environment's roles."""

    policy_arn: Annotated[PolicyArn, ROLES_IN_PLACE]
    """The managed policy that bounds them."""

    policy_file: Annotated[PolicyFile | None, NOTHING] = None
    """A copy of its document as JSON, relative to this file; if given, slurmpod checks that it
    allows everything that nodes need.
    """


class ExistingRoles(Section):
    """Existing roles for the nodes, in place of slurmpod's own."""

    controller: Annotated[RoleArn, IN_PLACE]
    """Role of the controller, and of groups without a role below."""

    login: Annotated[RoleArn | None, IN_PLACE] = None
    """Role of login groups; default: that of the controller."""

    worker: Annotated[RoleArn | None, IN_PLACE] = None
    """Role of worker groups; default: that of the controller."""

    policy_files: Annotated[tuple[PolicyFile, ...], NOTHING] = ()
    """Copies of the policies of these roles as JSON, relative to this file; if given, slurmpod
    checks that they suffice.
    """


class Identity(Section):
    """Roles of nodes, and permissions beyond what the environment needs."""

    roles: Annotated[
        Literal["one", "per_role"],
        Effect(
            Kind.IN_PLACE,
            "groups get new roles; running nodes cannot call AWS from the deletion of the old "
            "ones until the cluster uses the new ones, which takes minutes",
        ),
    ] = "one"
    """One role for all instance groups, or one each for controller, login and worker groups, with
    what these need."""

    existing: Annotated[
        ExistingRoles | None,
        Effect(
            Kind.IN_PLACE,
            "groups get these roles; those that slurmpod created stay until their stack is deleted",
        ),
    ] = None
    """Roles of your own, in place of new ones."""

    permissions_boundary: Annotated[PermissionsBoundary | None, ROLES_IN_PLACE] = None
    """Permissions boundary of every role of this environment."""

    data_buckets: Annotated[tuple[DataBucket, ...], ROLES_IN_PLACE, Field(max_length=30)] = ()
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
        ROLES_IN_PLACE,
        Field(max_length=50),
    ] = ()
    """Repositories of this account's ECR from which nodes pull container images."""

    job_secrets: Annotated[tuple[JobSecret, ...], ROLES_IN_PLACE, Field(max_length=30)] = ()
    """Secrets that jobs read when they start. Anyone who can run jobs can read them."""

    policy_arns: Annotated[tuple[PolicyArn, ...], ROLES_IN_PLACE, Field(max_length=20)] = ()
    """Further managed policies for the roles of the nodes."""
