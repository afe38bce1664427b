"""The `services` section: what SageMaker runs beside the cluster. Off unless it is written."""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from slurmpod.environment.base import (
    GUARD,
    IN_PLACE,
    NOTHING,
    REPLACEMENT,
    Effect,
    Kind,
    Section,
)
from slurmpod.environment.file_systems import OnDelete
from slurmpod.environment.names import KmsKeyArn

ServiceType = Annotated[
    str,
    Field(pattern=r"^ml\.[a-z0-9-]+\.[a-z0-9]+$", max_length=32, examples=["ml.g5.xlarge"]),
]
"""An instance type of SageMaker's, which serves more of them than HyperPod."""

NEW_INSTANCES = Effect(
    Kind.IN_PLACE,
    "new instances are started, then take the requests, and the old ones go: nothing is missed, "
    "and both cost meanwhile",
)


class Scaling(Section):
    """How many instances serve: as many as requests need, between two limits."""

    max_instances: Annotated[int, IN_PLACE, Field(ge=2, le=1000, examples=[4])]
    """The most of them; `services.endpoint.instances` are the fewest."""

    invocations_per_instance: Annotated[int, IN_PLACE, Field(ge=1, le=1_000_000, examples=[60])]
    """Target requests per minute and instance: above it, instances are added; far below it, they
    are removed."""


class Endpoint(Section):
    """A real-time endpoint of SageMaker: a model on instances that wait for requests.

    It costs from its deployment to its destruction, even without requests. It is in the network of
    the cluster; IAM controls who may call it (`sagemaker:InvokeEndpoint`).
    """

    instance_type: Annotated[ServiceType, NEW_INSTANCES]
    """Type of the instances."""

    instances: Annotated[int, NEW_INSTANCES, Field(ge=1, le=1000)] = 1
    """How many of them there are; with `scaling` the fewest."""

    image: Annotated[
        str,
        NEW_INSTANCES,
        Field(
            pattern=r"^[0-9]{12}\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.(com|com\.cn|eu)"
            r"/[a-z0-9]+([._/-][a-z0-9]+)*(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127}"
            r"|@sha256:[0-9a-f]{64})$",
            max_length=255,
            examples=["123456789012.dkr.ecr.us-west-2.amazonaws.com/gpt-j:1.0"],
        ),
    ]
    """Container image in ECR that serves the model, with its tag or digest."""

    model_data: Annotated[
        str,
        NEW_INSTANCES,
        Field(
            pattern=r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/[A-Za-z0-9!_.'()/-]+"
            r"(\.tar\.gz|/)$",
            max_length=1024,
            examples=["s3://my-models/gpt-j/model.tar.gz"],
        ),
    ]
    """The model: an archive (.tar.gz), or a folder of files, which ends with a slash."""

    model_data_kms_key_arn: Annotated[KmsKeyArn | None, IN_PLACE] = None
    """Key of the bucket of the model, where it has one of yours."""

    parameters_millions: Annotated[int, NOTHING, Field(ge=1, le=10_000_000, examples=[6050])]
    """Parameters of the model in millions (GPT-J: 6050): its weights must fit into the memory."""

    bytes_per_parameter: Annotated[Literal[1, 2, 4], NOTHING] = 2
    """Bytes that one parameter takes: 4 as FP32, 2 as FP16 or BF16, 1 as INT8 or FP8."""

    environment: Annotated[
        dict[
            Annotated[
                str,
                Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=1024, examples=["HF_TASK"]),
            ],
            Annotated[str, Field(max_length=1024)],
        ],
        NEW_INSTANCES,
        Field(max_length=16, examples=[{"HF_TASK": "text-generation"}]),
    ] = Field(default_factory=dict)
    """Environment variables of the container. No secrets: who may look at the model reads them."""

    startup_timeout_seconds: Annotated[int, NEW_INSTANCES, Field(ge=60, le=3600)] = 900
    """Seconds for which the model may be downloaded, and then for which the container may start."""

    network_isolation: Annotated[bool, NEW_INSTANCES] = True
    """Whether the container has no network access; SageMaker still delivers the model and the
    requests."""

    kms_key_arn: Annotated[KmsKeyArn | None, NEW_INSTANCES] = None
    """Key for the volumes of the instances and for the log, whose policy lets CloudWatch Logs use
    it; default: AWS's own. Types with their own disks take none."""

    scaling: Annotated[
        Scaling | None,
        replace(
            IN_PLACE,
            removed=Effect(
                Kind.IN_PLACE, "as many instances go on serving as there are at that moment"
            ),
        ),
    ] = None
    """How instances are added and taken away; default: there are always `instances` of them."""

    delete_after: Annotated[
        str | None,
        IN_PLACE,
        Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", examples=["2027-03-31"]),
    ] = None
    """Day until which it is wanted: the tag slurmpod:delete-after says it, and `slurmpod preflight`
    once it is over. Nothing is deleted by itself."""


STOPPED_MEANWHILE = Effect(
    Kind.IN_PLACE,
    "the notebook instance is stopped, changed and started again: kernels and terminals end, files "
    "stay",
)
NEXT_START = Effect(
    Kind.IN_PLACE, "counts from the next start of the notebook instance on: stop and start it"
)
NOTEBOOK_AGAIN = Effect(
    Kind.REFUSED,
    "SageMaker cannot change it, and CloudFormation makes no second instance of the same name: "
    "save the files, destroy the stack notebook, delete the instance, deploy",
    source=REPLACEMENT,
)


class Notebook(Section):
    """A notebook instance of SageMaker with JupyterLab, in the network of the cluster.

    It stops when it is idle. People who open it share it, as one user without a name in the
    cluster; IAM controls who may open it (`sagemaker:CreatePresignedNotebookInstanceUrl`).
    """

    instance_type: Annotated[ServiceType, STOPPED_MEANWHILE] = "ml.t3.medium"
    """Type of the instance."""

    volume_gib: Annotated[
        int,
        replace(
            STOPPED_MEANWHILE,
            less=Effect(
                Kind.REFUSED,
                "SageMaker refuses: a volume cannot shrink",
                source="SageMaker API reference, UpdateNotebookInstance, VolumeSizeInGB",
            ),
        ),
        Field(ge=5, le=16_384),
    ] = 20
    """Size of the volume with its files, /home/ec2-user/SageMaker; all else is new at each start.
    """

    idle_minutes: Annotated[int, NEXT_START, Field(ge=10, le=10_080)] = 60
    """Minutes after which it is stopped when no kernel and no terminal did anything."""

    shared_storage: Annotated[Literal["none", "read_only", "read_write"], NEXT_START] = "read_only"
    """How it mounts the file systems of the cluster, Lustre and OpenZFS, where nodes have them. Its
    user has the number 1000 there, which is ubuntu on nodes."""

    root_access: Annotated[bool, STOPPED_MEANWHILE] = False
    """Whether its user may become root, on shared file systems, too."""

    direct_internet: Annotated[bool, NOTEBOOK_AGAIN] = False
    """Whether it reaches the internet through a network of SageMaker's, past this one."""

    kms_key_arn: Annotated[KmsKeyArn | None, NOTEBOOK_AGAIN] = None
    """Key for its volume; default: slurmpod makes one."""

    on_delete: Annotated[OnDelete, GUARD] = "retain"
    """What becomes of the instance, and of the files on its volume, when its stack is deleted."""


class Services(Section):
    """What SageMaker runs beside the cluster, in its network."""

    endpoint: Annotated[
        Endpoint | None,
        replace(
            IN_PLACE,
            removed=Effect(
                Kind.IN_PLACE,
                "it goes on serving, and costs, until you delete the stack endpoint",
            ),
        ),
    ] = None
    """A model that answers requests; default: none."""

    notebook: Annotated[
        Notebook | None,
        replace(
            IN_PLACE,
            removed=Effect(
                Kind.IN_PLACE, "it stays, and stops when idle, until you delete its stack"
            ),
        ),
    ] = None
    """A notebook instance; default: none."""
