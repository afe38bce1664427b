"""Rules for the volumes, the health checks and the software updates of nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import astuple, fields
from math import inf

from slurmpod.environment.cluster import Group, Role
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved, ResolvedGroup
from slurmpod.resolve.resolved import ALL_NODES_PARTITION
from slurmpod.rules.groups import API, GUIDE, known_types
from slurmpod.rules.partitions import seconds
from slurmpod.rules.registry import LIFECYCLE_MODE, Area, Finding
from slurmpod.value import Value

VOLUMES = Area("VOL", "Volumes of nodes", reads=("cluster",))

EBS_VOLUMES = f"{API}API_ClusterEbsVolumeConfig.html"
KEYS_OF_CUSTOMERS = f"{GUIDE}smcluster-cmk.html"

KEYS = ("volume_kms_key_arn", "root_volume_kms_key_arn")


@VOLUMES.rule(
    "VOL-001",
    "An additional volume with a key has a size",
    why="The key is for the additional volume, which does not exist without a size.",
    fix="add volume_gib; the key of the root volume is root_volume_kms_key_arn",
    source=EBS_VOLUMES,
)
def _key_has_a_volume(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        if group.settings.volume_kms_key_arn and not group.settings.volume_gib:
            message = f"'{group.name}' has no additional volume to encrypt"
            yield Finding((*group.path, "volume_kms_key_arn"), message)


@VOLUMES.rule(
    "VOL-003",
    "Own keys for volumes come with continuous provisioning",
    why="HyperPod encrypts volumes with keys of customers in clusters with continuous provisioning "
    "only.",
    fix="write 'provisioning: continuous' under cluster, or remove the key: AWS's own is used",
    source=KEYS_OF_CUSTOMERS,
    reads=("cluster", *LIFECYCLE_MODE),
)
def _keys_are_continuous(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        for key, _arn in _keys(group.settings):
            if not resolved.continuous:
                message = "a key of your own needs continuous provisioning"
                yield Finding((*group.path, key), message)


def _keys(group: Group) -> list[tuple[str, str]]:
    """Return the keys that a group names, with where it names them."""
    return [(key, arn) for key in KEYS if (arn := getattr(group, key))]


HEALTH_CHECKS = Area("DHC", "Deep health checks", reads=("cluster",))

CHECKS = f"{GUIDE}sagemaker-hyperpod-resiliency-slurm-deep-health-checks.html"

SMALLEST_CONNECTION = 2


@HEALTH_CHECKS.rule(
    "DHC-001",
    "Deep health checks are for workers",
    why="The nodes are put into a Slurm reservation while they are checked; the controller and "
    "login nodes take no jobs.",
    fix="remove the key",
    source=CHECKS,
)
def _checks_are_for_workers(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        if group.settings.deep_health_checks and group.role is not Role.WORKER:
            message = f"the {group.role} cannot be checked this way"
            yield Finding((*group.path, "deep_health_checks"), message, at_key=True)


@HEALTH_CHECKS.rule(
    "DHC-002",
    "Deep health checks are for GPUs",
    why="On Slurm clusters the checks are diagnostics of NVIDIA GPUs and of the traffic between "
    "them.",
    fix="remove the key, or choose a type with GPUs",
    source=CHECKS,
)
def _checks_are_for_gpus(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        without = [f.name for f in known_types(group) if f.accelerator_kind != "gpu"]
        if group.settings.deep_health_checks and group.role is Role.WORKER and without:
            message = f"{', '.join(without)} has no GPUs"
            yield Finding((*group.path, "deep_health_checks"), message, at_key=True)


@HEALTH_CHECKS.rule(
    "DHC-003",
    "Connectivity is checked between nodes",
    why="InstanceConnectivity runs NCCL tests across at least two nodes.",
    fix="remove InstanceConnectivity, or write a count of 2 or more",
    source=CHECKS,
)
def _connectivity_needs_two(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        checks_it = "InstanceConnectivity" in group.settings.deep_health_checks
        if checks_it and 0 < group.count < SMALLEST_CONNECTION:
            place = group.settings.deep_health_checks.index("InstanceConnectivity")
            message = f"'{group.name}' has one node, and no other to connect to"
            yield Finding((*group.path, "deep_health_checks", place), message)


@HEALTH_CHECKS.rule(
    "DHC-004",
    "Connectivity is checked where nodes have EFA",
    why="InstanceConnectivity is supported on types whose GPUs communicate across nodes.",
    fix="remove InstanceConnectivity",
    source=CHECKS,
    severity=Severity.WARNING,
)
def _connectivity_needs_efa(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        if "InstanceConnectivity" not in group.settings.deep_health_checks:
            continue
        gpus = [facts for facts in known_types(group) if facts.accelerator_kind == "gpu"]
        without = [facts.name for facts in gpus if not facts.efa_interfaces]
        if without:
            place = group.settings.deep_health_checks.index("InstanceConnectivity")
            message = f"{', '.join(without)} has no EFA between its nodes"
            yield Finding((*group.path, "deep_health_checks", place), message)


@HEALTH_CHECKS.rule(
    "DHC-005",
    "Nodes that fail deep health checks are replaced",
    why="If HyperPod may not replace a failed node, it stays unusable until you replace it.",
    fix="write 'node_recovery: Automatic' under cluster, or remove the checks",
    source=CHECKS,
    severity=Severity.WARNING,
)
def _failures_are_replaced(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        if group.settings.deep_health_checks and resolved.node_recovery == "None":
            message = f"nodes of '{group.name}' that fail would not be replaced"
            yield Finding((*group.path, "deep_health_checks"), message, at_key=True)


UPDATES = Area("UPD", "Updates of the nodes' software", reads=("cluster",))

CRON = "https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-cron-expressions.html"
SCHEDULED_UPDATE = (
    "https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/"
    "aws-properties-sagemaker-cluster-scheduledupdateconfig.html"
)
IMAGE_UPDATES = f"{GUIDE}sagemaker-hyperpod-ami-update.html"
GROUP_SPECIFICATION = f"{API}API_ClusterInstanceGroupSpecification.html"

SCHEDULE = ("scheduled_update", "schedule")

USUAL_PATCH_WINDOW_SECONDS = 86_400
"""Time that an automatic patch waits for idle nodes by default; CloudFormation cannot change it
(IdleWaitWindowInSeconds of UpdateCluster).
"""


@UPDATES.rule(
    "UPD-001",
    "Schedules have the form that AWS takes",
    why="A schedule has six fields, and fewer forms of them than other crons: one minute and one "
    "hour, no lists, no ranges.",
    fix="write cron(minute hour day month weekday year), such as cron(0 3 ? * SUN *)",
    source=SCHEDULED_UPDATE,
)
def _form(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        if group.settings.scheduled_update is None:
            continue
        schedule, path = group.settings.scheduled_update.schedule, (*group.path, *SCHEDULE)
        cron = read_cron(schedule)
        if cron is None:
            yield Finding(path, f"'{schedule}' has not six fields with one space between them")
            continue
        for name, text, allowed in cron.wrong_fields():
            message = f"the {name} of a schedule cannot be '{text}'"
            yield Finding(path, message, f"write {allowed} for the {name}")


@UPDATES.rule(
    "UPD-002",
    "Schedules name days of the month or of the week",
    why="AWS takes one of the two, and a ? in the place of the other.",
    fix="write ? for the day or for the weekday, and a value for the other",
    source=CRON,
)
def _one_kind_of_day(resolved: Resolved) -> Iterator[Finding]:
    for group, cron in _sound_schedules(resolved):
        if (cron.day == UNSET) == (cron.weekday == UNSET):
            which = "neither day nor weekday" if cron.day == UNSET else "both day and weekday"
            yield Finding((*group.path, *SCHEDULE), f"the schedule names {which}")


@UPDATES.rule(
    "UPD-003",
    "Schedules name days that exist",
    why="Some months do not have this day: the update would never begin.",
    fix="write a day that the month has",
    source=CRON,
)
def _days_exist(resolved: Resolved) -> Iterator[Finding]:
    for group, cron in _sound_schedules(resolved):
        if cron.never_happens():
            message = f"there is no day {cron.day} in month {cron.month}"
            if cron.year != "*":
                message += f" of {cron.year}"
            yield Finding((*group.path, *SCHEDULE), message)


@UPDATES.rule(
    "UPD-004",
    "Scheduled updates of groups do not begin together",
    why="When schedules overlap, updates may fail; AWS advises to leave time between them.",
    fix="let the groups begin some hours apart",
    source=IMAGE_UPDATES,
    severity=Severity.WARNING,
)
def _apart(resolved: Resolved) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for group in resolved.groups:
        if group.settings.scheduled_update is None:
            continue
        other = first.setdefault(group.settings.scheduled_update.schedule, group.name)
        if other != group.name:
            yield Finding((*group.path, *SCHEDULE), f"'{other}' begins at the same time")


@UPDATES.rule(
    "UPD-005",
    "HyperPod does not update groups with a custom image",
    why="HyperPod updates to its own newest image: what was built into yours would be gone.",
    fix="remove image_id, or the update, and change image_id when you have built a newer one",
    source=f"{API}API_UpdateClusterSoftware.html",
    severity=Severity.WARNING,
)
def _own_images(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        for key in ("scheduled_update", "auto_patch"):
            if group.settings.image_id and getattr(group.settings, key):
                message = f"'{group.name}' has {group.settings.image_id}, which this would replace"
                yield Finding((*group.path, key), message, at_key=True)


@UPDATES.rule(
    "UPD-006",
    "A group is updated in one way",
    why="Scheduled updates and automatic patches both replace the image of the nodes; what "
    "overlaps may fail.",
    fix="remove one of the two",
    source=GROUP_SPECIFICATION,
    severity=Severity.WARNING,
)
def _one_way(resolved: Resolved) -> Iterator[Finding]:
    for group in resolved.groups:
        if group.settings.scheduled_update and group.settings.auto_patch:
            message = f"'{group.name}' has a scheduled update too"
            yield Finding((*group.path, "auto_patch"), message, at_key=True)


@UPDATES.rule(
    "UPD-007",
    "The controller is updated by hand",
    why="An update replaces the root volume. The controller keeps there the queue of jobs and, "
    "without a database of your own, the records of all jobs: they must be saved before.",
    fix="remove the key, and update the controller with what it keeps saved",
    source=f"{GUIDE}sagemaker-hyperpod-operate-slurm-cli-command.html",
    severity=Severity.WARNING,
    reads=("cluster", "slurm"),
)
def _controller_by_hand(resolved: Resolved) -> Iterator[Finding]:
    if resolved.slurm.multi_head:
        return
    for group in resolved.groups_with(Role.CONTROLLER):
        for key in ("scheduled_update", "auto_patch"):
            if getattr(group.settings, key):
                message = "the queue of jobs would be lost with the controller's root volume"
                yield Finding((*group.path, key), message, at_key=True)


@UPDATES.rule(
    "UPD-008",
    "Jobs end while an automatic patch waits for idle nodes",
    why="On the day of a patch HyperPod cordons all nodes of the group at once: none takes a new "
    "job until it is patched. It waits 24 hours for them to become idle by default, and a node "
    "whose job runs longer keeps the old image; with WhenAllIdle one such node keeps all of them "
    "from the patch.",
    fix="give the partitions of the group a max_time of a day at most; or accept it, and move the "
    "date or wait longer with UpdateCluster, or update with `slurmpod patch`",
    source=f"{API}API_ClusterAutoPatchConfig.html",
    severity=Severity.WARNING,
    reads=("cluster", "slurm"),
)
def _jobs_end_in_the_window(resolved: Resolved) -> Iterator[Finding]:
    longest = {each.name: seconds(each.max_time) for each in resolved.slurm.partitions}
    for group in resolved.groups_with(Role.WORKER):
        if group.settings.auto_patch is None:
            continue
        of_group = [group.partition] if group.partition else []
        for name in (*of_group, ALL_NODES_PARTITION):
            if (longest.get(name) or inf) > USUAL_PATCH_WINDOW_SECONDS:
                message = (
                    f"all nodes of '{group.name}' stop taking jobs at once, for up to 24 hours, "
                    f"and jobs in {name} may run longer"
                )
                yield Finding((*group.path, "auto_patch"), message, at_key=True)
                break


def _sound_schedules(resolved: Resolved) -> Iterator[tuple[ResolvedGroup, Cron]]:
    """Yield the schedules that have a form that AWS takes."""
    for group in resolved.groups:
        update = group.settings.scheduled_update
        cron = read_cron(update.schedule) if update else None
        if cron and not any(cron.wrong_fields()):
            yield group, cron


UNSET = "?"

_WEEKDAY = "MON|TUE|WED|THU|FRI|SAT|SUN|[1-7]"
_FORMS = {
    "minute": (r"[0-5]?[0-9]", "0 to 59"),
    "hour": (r"[01]?[0-9]|2[0-3]", "0 to 23"),
    "day": (r"0?[1-9]|[12][0-9]|3[01]|\?", "1 to 31, or ?"),
    "month": (r"0?[1-9]|1[0-2]|\*|\*/([1-9]|1[0-2])", "1 to 12, *, or */n"),
    "weekday": (rf"{_WEEKDAY}|[1-7]#[1-5]|[1-7]?L|\?", "MON to SUN, 1 to 7, 2#1, 6L, L, or ?"),
    "year": (r"20[2-9][0-9]|\*", "2020 to 2099, or *"),
}


class Cron(Value):
    """The six fields of a schedule, as they are written."""

    minute: str
    hour: str
    day: str
    month: str
    weekday: str
    year: str

    def wrong_fields(self) -> Iterator[tuple[str, str, str]]:
        """Yield name, text and allowed values of each field that AWS does not take."""
        for field, text in zip(fields(self), astuple(self), strict=True):
            pattern, allowed = _FORMS[field.name]
            if not re.fullmatch(pattern, text):
                yield field.name, text, allowed

    def never_happens(self) -> bool:
        """Return whether a well-formed schedule names a day that its month does not have."""
        if not (self.day.isdigit() and self.month.isdigit()):
            return False
        import calendar  # few schedules name a day of a month

        is_certain = self.year.isdigit()
        year = int(self.year) if is_certain else 2024  # a leap year, which comes again
        return int(self.day) > calendar.monthrange(year, int(self.month))[1]


def read_cron(expression: str) -> Cron | None:
    """Return the fields of `cron(...)`; None where there are not six of them."""
    parts = expression.removeprefix("cron(").removesuffix(")").split(" ")
    return Cron(*parts) if len(parts) == len(_FORMS) else None
