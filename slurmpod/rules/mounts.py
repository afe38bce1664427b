"""Rules for where file systems and buckets are mounted."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING

from slurmpod.problems import Severity
from slurmpod.rules.file_systems import all_mounts
from slurmpod.rules.own_scripts import FOLDER
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.script_text import lines_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved

MOUNTS = Area("MNT", "Mounts")

FSTAB = "https://man7.org/linux/man-pages/man8/mount.8.html"
LIFECYCLE = (
    "https://docs.aws.amazon.com/sagemaker/latest/dg/"
    "sagemaker-hyperpod-lifecycle-best-practices-slurm.html"
)

FILE_SYSTEM_ID = re.compile(r"(?<![\w-])fs-[0-9a-f]{8,17}(?![\w-])")


@MOUNTS.rule(
    "MNT-001",
    "Everything is mounted on a folder of its own",
    why="Of two mounts on one folder the second hides the first.",
    fix="choose another folder for one of the two",
    source=FSTAB,
)
def _folders_are_unique(environment: Environment, _: Resolved) -> Iterator[Finding]:
    seen: set[str] = set()
    for mount in all_mounts(environment):
        if mount.folder in seen:
            yield Finding(mount.path, f"something else is mounted on {mount.folder} already")
        seen.add(mount.folder)


@MOUNTS.rule(
    "MNT-002",
    "No mount lies inside another one",
    why="The inner one is a folder of the outer file system: it is there only while the outer one "
    "is mounted, hides what lies below on that, and keeps it from being unmounted.",
    fix="choose a folder beside it, such as /scratch beside /fsx",
    source=FSTAB,
)
def _mounts_lie_side_by_side(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for one, other in combinations(all_mounts(environment), 2):
        inner, outer = sorted((one, other), key=lambda mount: len(mount.folder), reverse=True)
        if inner.folder.startswith(f"{outer.folder}/"):
            message = f"{inner.folder} lies inside {outer.folder}, which is a mount too"
            yield Finding(inner.path, message)


@MOUNTS.rule(
    "MNT-003",
    "Somebody mounts the buckets",
    why="In managed mode no script of the environment runs on nodes, and HyperPod itself mounts "
    "FSx file systems only.",
    fix="use lifecycle.mode extended or customer, or data_repositories of a Lustre file system",
    source=LIFECYCLE,
)
def _somebody_mounts_buckets(environment: Environment, resolved: Resolved) -> Iterator[Finding]:
    if resolved.lifecycle.mode == "managed" and environment.storage.s3_mounts:
        message = "nobody mounts buckets on nodes in managed mode"
        yield Finding(("storage", "s3_mounts"), message, at_key=True)


@MOUNTS.rule(
    "MNT-004",
    "Scripts of your own name no file system that the environment does not know",
    why="Nothing here has judged whether nodes reach it: its VPC, its zone and its security groups "
    "are its own. An id that is left from another cluster fails every node.",
    fix="name it in storage as an existing one, or accept the warning where it is known to work",
    source=LIFECYCLE,
    severity=Severity.WARNING,
)
def _file_systems_are_known(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    own = resolved.lifecycle.own_scripts
    existing = [each.settings.existing for each in (*resolved.lustre, resolved.openzfs) if each]
    known = {each.id for each in existing if each}
    for line in lines_of(own) if own else ():
        for name in dict.fromkeys(FILE_SYSTEM_ID.findall(line.text)):
            if name not in known:
                yield Finding(FOLDER, f"{line} names {name}, no file system of the environment")
