"""The `checks` section: health checks of idle nodes."""

from typing import Annotated, Final, Literal, get_args

from pydantic import Field

from slurmpod.environment.base import CONTROLLER_LATER, Section

CheckKind = Literal["accelerators", "processor", "scratch", "shared_storage", "pairs", "rings"]

ALL_KINDS: Final[tuple[CheckKind, ...]] = get_args(CheckKind)


class Checks(Section):
    """Checks that run as jobs of the lowest priority on idle nodes.

    A faulty node is drained, with the finding as the reason.
    """

    every_hours: Annotated[int, CONTROLLER_LATER, Field(ge=1, le=720)] = 24
    """Hours after which a node is checked again, once it is idle."""

    groups: Annotated[
        tuple[str, ...], CONTROLLER_LATER, Field(max_length=100, examples=[["gpu"]])
    ] = ()
    """Worker groups that are checked; default: all."""

    kinds: Annotated[tuple[CheckKind, ...], CONTROLLER_LATER, Field(min_length=1)] = ALL_KINDS
    """What is checked: accelerators, processors, the scratch disk, shared storage, and the network
    between pairs of nodes and in rings of them; default: all of it."""

    least_percent: Annotated[int, CONTROLLER_LATER, Field(ge=1, le=95)] = 50
    """Percentage of the other nodes' performance below which a node is faulty."""

    dcgm_level: Annotated[Literal[1, 2, 3], CONTROLLER_LATER] = 2
    """Level of DCGM's GPU diagnostics: seconds (1), some minutes (2), half an hour (3)."""

    replace_after: Annotated[int | None, CONTROLLER_LATER, Field(ge=1, le=10)] = None
    """Faults of an instance after which slurmpod has HyperPod replace it, one node a day; default:
    no replacement.
    """
