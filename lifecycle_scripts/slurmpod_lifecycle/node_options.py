"""What nodes are made of, and what the environment asks of them beside Slurm and people."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Hardware:
    """What one instance type brings; `accelerator_kind` is `gpu`, `neuron`, or empty."""

    architecture: str
    accelerator_kind: str
    accelerators: int
    efa_interfaces: int
    nvme_gb: int


@dataclass(frozen=True)
class Artefact:
    """A package that nodes need and their image may lack.

    `mirror` is where the environment's bucket has it once it was mirrored.
    """

    name: str
    architecture: str
    url: str
    sha256: str
    mirror: str


@dataclass(frozen=True)
class NodeOptions:
    """What is asked of nodes; `scratch_path` is None where disks stay as the image has them.

    `hooks` has the roles with scripts of the user's own, each with the paths in the bundle of what
    runs `before` and `after` the steps.
    """

    instance_types: Mapping[str, tuple[str, ...]]
    """The types of each instance group: several for flexible capacity."""

    hardware: Mapping[str, Hardware]
    """By instance type; a type that the catalog does not know is not there."""

    scratch_path: str | None = None
    health_checks: bool = False
    containers: bool = False
    rotate_logs: bool = True
    motd: bool = False
    ssh_between_nodes: bool = False
    ssh_needs_job: bool = False
    has_way_out: bool = True
    """Whether nodes reach the internet, or at least mirrors of what is there."""

    artefacts: tuple[Artefact, ...] = ()
    hooks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> NodeOptions:
        """Read the part `node` of settings.json; raises KeyError or TypeError for half a one."""
        types = {group: tuple(names) for group, names in data["instance_types"].items()}
        hardware = {name: Hardware(**each) for name, each in data["hardware"].items()}
        artefacts = tuple(Artefact(**each) for each in data["artefacts"])
        read = {"instance_types": types, "hardware": hardware, "artefacts": artefacts}
        return cls(**{**data, **read})
