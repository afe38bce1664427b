"""Rules for the shared file system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.problems import Severity
from slurmpod.rules.registry import Area, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved

STORAGE = Area("STO", "Storage")

CREATE_FILE_SYSTEM = "https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystem.html"
DEPLOYMENT_TYPES = "https://docs.aws.amazon.com/fsx/latest/LustreGuide/using-fsx-lustre.html"

SMALLEST_GIB = 1200
STEP_GIB = 2400

REGIONS_WITHOUT_PERSISTENT_2 = frozenset(
    {"ap-south-2", "ap-southeast-3", "ap-southeast-4", "eu-south-2", "sa-east-1"}
)
"""Regions with HyperPod but without PERSISTENT_2, from the FSx for Lustre user guide, mid 2026."""

FOLDERS_OF_THE_SYSTEM = frozenset(
    {"bin", "boot", "dev", "etc", "home", "lib", "lib64", "opt", "proc", "root"}
    | {"run", "sbin", "sys", "tmp", "usr", "var"}
)

LUSTRE = ("storage", "lustre")


@STORAGE.rule(
    "STO-001",
    "The file system has a capacity that FSx offers",
    why="PERSISTENT_2 file systems on SSD come in 1200 GiB, 2400 GiB and steps of 2400 GiB.",
    fix="write 1200, 2400 or a multiple of 2400",
    source=CREATE_FILE_SYSTEM,
)
def _capacity(environment: Environment, _: Resolved) -> Iterator[Finding]:
    gib = environment.storage.lustre.capacity_gib
    if gib != SMALLEST_GIB and gib % STEP_GIB:
        below = gib // STEP_GIB * STEP_GIB or SMALLEST_GIB
        above = (gib // STEP_GIB + 1) * STEP_GIB
        message = f"FSx for Lustre has no file systems of {gib} GiB"
        yield Finding((*LUSTRE, "capacity_gib"), message, f"write {below} or {above}")


@STORAGE.rule(
    "STO-002",
    "The Region has PERSISTENT_2 file systems",
    why="Not every Region with HyperPod has this deployment type of FSx for Lustre.",
    fix="choose another Region, or look up whether FSx offers PERSISTENT_2 there by now",
    source=DEPLOYMENT_TYPES,
    severity=Severity.WARNING,
)
def _region(environment: Environment, _: Resolved) -> Iterator[Finding]:
    region = environment.region
    if region in REGIONS_WITHOUT_PERSISTENT_2:
        yield Finding(("region",), f"FSx for Lustre had no PERSISTENT_2 in {region} in 2026")


@STORAGE.rule(
    "STO-003",
    "The mount path is no folder of the operating system",
    why="Mounting over such a folder hides what the node needs to run or to let users in.",
    fix="choose a folder of its own, such as /fsx",
    source="https://refspecs.linuxfoundation.org/FHS_3.0/fhs/index.html",
)
def _mount_path(environment: Environment, _: Resolved) -> Iterator[Finding]:
    path = environment.storage.lustre.mount_path
    if path.removeprefix("/") in FOLDERS_OF_THE_SYSTEM:
        yield Finding((*LUSTRE, "mount_path"), f"{path} belongs to the operating system")
