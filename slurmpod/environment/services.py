"""The `services` section: SageMaker services beside the cluster. Off by default."""

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
    "new instances start and take over the requests, then the old ones are removed: no request "
    "is lost, and both are billed meanwhile",
)


class Scaling(Section):
    """Scaling of the instances with the requests, between two limits."""

    max_instances: Annotated[int, IN_PLACE, Field(ge=2, le=1000, examples=[4])]
    """The maximum number; `services.endpoint.instances` is the minimum."""

    invocations_per_instance: Annotated[int, IN_PLACE, Field(ge=1, le=1_000_000, examples=[60])]
    """Target requests per minute and instance: above it, instances are added; well below it, they
    are removed.
    """


class Endpoint(Section):
    """A real-time endpoint of SageMaker: instances that serve a model.

    It is billed until it is destroyed, even without requests. It is in the network of the cluster;
    IAM controls who may call it (`sagemaker:InvokeEndpoint`).
    """

    instance_type: Annotated[ServiceType, NEW_INSTANCES]
    """Type of the instances."""

    instances: Annotated[int, NEW_INSTANCES, Field(ge=1, le=1000)] = 1
    """Number of instances; with `scaling` the minimum."""

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
    """Key of the model's bucket, if it has your own."""

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
    """Environment variables of the container. No secrets: anyone who may describe the model can
    read them.
    """

    startup_timeout_seconds: Annotated[int, NEW_INSTANCES, Field(ge=60, le=3600)] = 900
    """Time limit in seconds for downloading the model, and again for starting the container."""

    network_isolation: Annotated[bool, NEW_INSTANCES] = True
    """Whether the container has no network access; SageMaker still delivers the model and the
    requests."""

    kms_key_arn: Annotated[KmsKeyArn | None, NEW_INSTANCES] = None
    """Key for the volumes of the instances and for the log, whose policy must let CloudWatch Logs
    use it; default: AWS's own. Types with their own disks take none.
    """

    scaling: Annotated[
        Scaling | None,
        replace(
            IN_PLACE,
            removed=Effect(Kind.IN_PLACE, "the number of instances stays as it is at that moment"),
        ),
    ] = None
    """Adding and removing instances; default: the number is fixed."""

    delete_after: Annotated[
        str | None,
        IN_PLACE,
        Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", examples=["2027-03-31"]),
    ] = None
    """Last day of use: written to the tag slurmpod:delete-after, and reported by `slurmpod
    preflight` afterwards. Nothing is deleted automatically.
    """


STOPPED_MEANWHILE = Effect(
    Kind.IN_PLACE,
    "the notebook instance is stopped, changed and started again: kernels and terminals end, files "
    "stay",
)
NEXT_START = Effect(
    Kind.IN_PLACE, "applies from the next start of the notebook instance: stop and start it"
)
NOTEBOOK_AGAIN = Effect(
    Kind.REFUSED,
    "SageMaker cannot change it, and CloudFormation cannot create a second instance of the same "
    "name: save the files, destroy the stack notebook, delete the instance, deploy",
    source=REPLACEMENT,
)


class Notebook(Section):
    """A notebook instance of SageMaker with JupyterLab, in the network of the cluster.

    It stops when idle. Everyone who opens it shares one user, which is none of the cluster's; IAM
    controls who may open it (`sagemaker:CreatePresignedNotebookInstanceUrl`).
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
    """Size of the volume with its files, /home/ec2-user/SageMaker; everything else is reset at each
    start.
    """

    idle_minutes: Annotated[int, NEXT_START, Field(ge=10, le=10_080)] = 60
    """Minutes without activity of kernels and terminals after which it stops."""

    shared_storage: Annotated[Literal["none", "read_only", "read_write"], NEXT_START] = "read_only"
    """How it mounts the cluster's Lustre and OpenZFS file systems, at the same paths as nodes. Its
    user has the id 1000 there, which is ubuntu on nodes.
    """

    root_access: Annotated[bool, STOPPED_MEANWHILE] = False
    """Whether its user may become root, including on shared file systems."""

    direct_internet: Annotated[bool, NOTEBOOK_AGAIN] = False
    """Whether it reaches the internet through SageMaker's network, bypassing this one."""

    kms_key_arn: Annotated[KmsKeyArn | None, NOTEBOOK_AGAIN] = None
    """Key for its volume; default: slurmpod creates one."""

    on_delete: Annotated[OnDelete, GUARD] = "retain"
    """What happens to the instance, and to the files on its volume, when its stack is deleted."""


class Services(Section):
    """SageMaker services in the cluster's network."""

    endpoint: Annotated[
        Endpoint | None,
        replace(
            IN_PLACE,
            removed=Effect(
                Kind.IN_PLACE,
                "it keeps serving, and is billed, until you delete the stack endpoint",
            ),
        ),
    ] = None
    """An endpoint that serves a model; default: none."""

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
