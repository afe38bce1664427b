"""Rules for the endpoint that serves a model: late refusals of SageMaker, and unexpected cost."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.catalog import OFFERINGS_AS_OF, offered_zone_ids
from slurmpod.environment.service_types import (
    SERVICE_TYPES_AS_OF,
    Memory,
    endpoint_types,
)
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.problems import Severity, YamlPath
from slurmpod.resolve import Resolved, ResolvedEndpoint
from slurmpod.resolve.network import SUBNETS
from slurmpod.rules.groups import GUIDE
from slurmpod.rules.registry import PRIVATE_SUBNETS, Area, Finding

ENDPOINTS = Area("END", "An endpoint that serves a model", reads=("services",))

IN_A_VPC = f"{GUIDE}host-vpc.html"
LARGE_MODELS = f"{GUIDE}large-model-inference-hosting.html"
SCALING = f"{GUIDE}endpoint-auto-scaling-prerequisites.html"
OWN_CONTAINERS = f"{GUIDE}your-algorithms-containers-inference-private.html"
TYPES = "https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_ProductionVariant.html"

ZONES_OF_AN_ENDPOINT = 2
MOST_OF_THE_MEMORY_PERCENT = 90
"""slurmpod's limit: the rest holds the driver, and the activations and the cache of one request of
a model such as GPT-J.
"""

GIGABYTE = 10**9
MONTHS = 12


@ENDPOINTS.rule(
    "END-001",
    "The weights of the model fit into the memory of an instance",
    why="Every instance holds the whole model: parameters times bytes per parameter (GPT-J as "
    "FP16: 6.05e9 x 2 = 12.1 GB). A container that runs out of memory never becomes healthy, and "
    "the endpoint fails after its long start.",
    fix="choose a larger type, or fewer bytes_per_parameter if the model is stored so",
    source=LARGE_MODELS,
)
def _weights_fit(resolved: Resolved) -> Iterator[Finding]:
    endpoint = resolved.endpoint
    memory = endpoint.memory if endpoint else None
    if endpoint and memory and endpoint.weights_bytes > memory.bytes_together:
        message = f"the weights take {_gb(endpoint.weights_bytes)}, {_has(endpoint, memory)}"
        yield Finding(_at(endpoint, "instance_type"), message)


@ENDPOINTS.rule(
    "END-002",
    "The weights of the model leave room beside them",
    why="Activations, the cache of a request and the driver need memory, too: with more than "
    f"{MOST_OF_THE_MEMORY_PERCENT} percent taken by weights, the first long request can end the "
    "container.",
    fix="choose a larger type; suppress it if you have tried it",
    source=LARGE_MODELS,
    severity=Severity.WARNING,
)
def _weights_leave_room(resolved: Resolved) -> Iterator[Finding]:
    endpoint = resolved.endpoint
    memory = endpoint.memory if endpoint else None
    if endpoint is None or memory is None:
        return
    limit = memory.bytes_together * MOST_OF_THE_MEMORY_PERCENT // 100
    if limit < endpoint.weights_bytes <= memory.bytes_together:
        message = f"the weights take {_gb(endpoint.weights_bytes)}, {_has(endpoint, memory)}"
        yield Finding(_at(endpoint, "instance_type"), message)


@ENDPOINTS.rule(
    "END-003",
    "One accelerator holds the model, or the container divides it",
    why="A container uses several accelerators for one model only if configured to: DJL's and "
    "vLLM's by a tensor parallel degree. Others load the model into the first one, and fail.",
    fix="choose a type with larger accelerators; suppress it if the image divides the model",
    source=LARGE_MODELS,
    severity=Severity.WARNING,
)
def _one_accelerator_holds_it(resolved: Resolved) -> Iterator[Finding]:
    endpoint = resolved.endpoint
    memory = endpoint.memory if endpoint else None
    if endpoint and memory and memory.bytes_each < endpoint.weights_bytes <= memory.bytes_together:
        message = (
            f"the weights take {_gb(endpoint.weights_bytes)}, each of the {memory.places} "
            f"accelerators has {_gb(memory.bytes_each)}"
        )
        yield Finding(_at(endpoint, "instance_type"), message)


@ENDPOINTS.rule(
    "END-004",
    "The type is one that SageMaker is known to serve with",
    why="SageMaker refuses other types after everything else was created. The list is from "
    f"{SERVICE_TYPES_AS_OF}.",
    fix="choose a type such as ml.g5.xlarge; suppress it if AWS has added it",
    source=TYPES,
    severity=Severity.WARNING,
)
def _type_is_known(resolved: Resolved) -> Iterator[Finding]:
    endpoint = resolved.endpoint
    if endpoint and (name := endpoint.settings.instance_type) not in endpoint_types():
        message = f"endpoints had no {name} (as of {SERVICE_TYPES_AS_OF})"
        yield Finding(_at(endpoint, "instance_type"), message, did_you_mean(name, endpoint_types()))


@ENDPOINTS.rule(
    "END-005",
    "An accelerated type is offered in the Region",
    why="Each accelerated type exists in some Regions only; elsewhere the endpoint fails for lack "
    f"of capacity. The list is from {OFFERINGS_AS_OF}.",
    fix="choose a type that the Region has; suppress it if AWS has added it since",
    source="slurmpod/data/accelerator_zone_ids.json",
    severity=Severity.WARNING,
    reads=("region", "services"),
)
def _type_is_in_the_region(resolved: Resolved) -> Iterator[Finding]:
    endpoint = resolved.endpoint
    regions = offered_zone_ids().get(endpoint.settings.instance_type) if endpoint else None
    if endpoint and regions and resolved.region not in regions:
        name = endpoint.settings.instance_type
        message = f"EC2 offers no {name} in {resolved.region} (as of {OFFERINGS_AS_OF})"
        yield Finding(_at(endpoint, "instance_type"), message)


@ENDPOINTS.rule(
    "END-006",
    "An endpoint has subnets in two zones",
    why="SageMaker takes a model with a VPC only with subnets in two zones, also for one instance. "
    "Nodes do not have to be in the second zone.",
    fix="add a zone to network.other_zones; in a deployed environment write "
    "network.private_subnet_cidr as it is, so that it stays",
    source=IN_A_VPC,
    reads=PRIVATE_SUBNETS,
)
def _two_zones(resolved: Resolved) -> Iterator[Finding]:
    zones = set(resolved.network.zones)
    if resolved.endpoint is None or len(zones) >= ZONES_OF_AN_ENDPOINT:
        return
    message = f"an endpoint needs subnets in two zones, there is {', '.join(sorted(zones))}"
    if resolved.network.existing:
        fix = "add a private subnet of your VPC in another zone"
        yield Finding(SUBNETS, message, fix, at_key=True)
    else:
        yield Finding(("network", "zone"), message)


@ENDPOINTS.rule(
    "END-007",
    "The image is in the environment's Region",
    why="SageMaker pulls images from ECR in its own Region only.",
    fix="write the URI of the image in this Region: copy it there, or use the Region's own of "
    "AWS's deep learning containers",
    source=OWN_CONTAINERS,
    reads=("region", "services"),
)
def _image_is_near(resolved: Resolved) -> Iterator[Finding]:
    endpoint = resolved.endpoint
    if endpoint and endpoint.image.region != resolved.region:
        message = f"the image is in {endpoint.image.region}, not in {resolved.region}"
        yield Finding(_at(endpoint, "image"), message)


@ENDPOINTS.rule(
    "END-008",
    "Scaling has a range",
    why="Application Auto Scaling moves between `instances` and `max_instances`: they must "
    "differ, and a smaller maximum is refused.",
    fix="write a larger max_instances, or remove scaling",
    source=SCALING,
)
def _scaling_has_room(resolved: Resolved) -> Iterator[Finding]:
    endpoint = resolved.endpoint
    scaling = endpoint.settings.scaling if endpoint else None
    if endpoint and scaling and scaling.max_instances <= endpoint.settings.instances:
        message = f"there are {endpoint.settings.instances} instances already"
        yield Finding(_at(endpoint, "scaling", "max_instances"), message)


@ENDPOINTS.rule(
    "END-009",
    "The last day is a valid date",
    why="The tag is compared with the current date.",
    fix="write a valid date, such as 2027-03-31",
    source="slurmpod/environment/services.py",
)
def _last_day_is_a_day(resolved: Resolved) -> Iterator[Finding]:
    endpoint = resolved.endpoint
    if endpoint and (day := endpoint.settings.delete_after) and not is_day(day):
        yield Finding(_at(endpoint, "delete_after"), f"{day} is not a date")


@ENDPOINTS.rule(
    "END-010",
    "A closed network isolates the container",
    why="Without isolation the container can call everything that the network allows: other "
    "programs there, and the buckets that the environment names.",
    fix="remove 'network_isolation: false'; suppress it if the container has to call something",
    source=IN_A_VPC,
    severity=Severity.WARNING,
    reads=("network", "services"),
)
def _is_isolated(resolved: Resolved) -> Iterator[Finding]:
    endpoint = resolved.endpoint
    if endpoint and resolved.network.closed and not endpoint.settings.network_isolation:
        message = "the container can reach resources in this closed network"
        yield Finding(_at(endpoint, "network_isolation"), message)


def is_day(text: str) -> bool:
    """Return whether a text such as 2027-03-31 is a valid date."""
    import calendar  # few endpoints have a last day

    year, month, day = map(int, text.split("-"))
    is_month = year > 0 and 1 <= month <= MONTHS
    return is_month and 1 <= day <= calendar.monthrange(year, month)[1]


def _at(endpoint: ResolvedEndpoint, *keys: str) -> YamlPath:
    return (*endpoint.path, *keys)


def _has(endpoint: ResolvedEndpoint, memory: Memory) -> str:
    what = "on accelerators" if memory.has_accelerators else "of memory, and no accelerators"
    return f"{endpoint.settings.instance_type} has {_gb(memory.bytes_together)} {what}"


def _gb(count: int) -> str:
    return f"{count / GIGABYTE:.1f} GB"
