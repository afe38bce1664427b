"""Rules for scheduled updates and automatic patches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.model.cluster import Role
from slurmpod.problems import Severity
from slurmpod.rules.cron import UNSET, read_cron
from slurmpod.rules.groups import API, GUIDE, at, groups_with
from slurmpod.rules.registry import Area, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved
    from slurmpod.rules.cron import Cron

UPDATES = Area("UPD", "Updates of the nodes' software")

CRON = "https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-cron-expressions.html"
SCHEDULED_UPDATE = (
    "https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/"
    "aws-properties-sagemaker-cluster-scheduledupdateconfig.html"
)
IMAGE_UPDATES = f"{GUIDE}sagemaker-hyperpod-ami-update.html"
GROUP_SPECIFICATION = f"{API}API_ClusterInstanceGroupSpecification.html"

SCHEDULE = ("scheduled_update", "schedule")


@UPDATES.rule(
    "UPD-001",
    "Schedules have the form that AWS takes",
    why="A schedule has six fields, and fewer forms of them than other crons: one minute and one "
    "hour, no lists, no ranges.",
    fix="write cron(minute hour day month weekday year), such as cron(0 3 ? * SUN *)",
    source=SCHEDULED_UPDATE,
)
def _form(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        if group.scheduled_update is None:
            continue
        schedule, path = group.scheduled_update.schedule, at(index, *SCHEDULE)
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
def _one_kind_of_day(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, cron in _sound_schedules(environment):
        if (cron.day == UNSET) == (cron.weekday == UNSET):
            which = "neither day nor weekday" if cron.day == UNSET else "both day and weekday"
            yield Finding(at(index, *SCHEDULE), f"the schedule names {which}")


@UPDATES.rule(
    "UPD-003",
    "Schedules happen",
    why="Some months do not have this day: the update would never begin.",
    fix="write a day that the month has",
    source=CRON,
)
def _days_exist(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, cron in _sound_schedules(environment):
        if cron.never_happens():
            message = f"there is no day {cron.day} in month {cron.month}"
            if cron.year != "*":
                message += f" of {cron.year}"
            yield Finding(at(index, *SCHEDULE), message)


@UPDATES.rule(
    "UPD-004",
    "Scheduled updates of groups do not begin together",
    why="When schedules overlap, updates may fail; AWS advises to leave time between them.",
    fix="let the groups begin some hours apart",
    source=IMAGE_UPDATES,
    severity=Severity.WARNING,
)
def _apart(environment: Environment, _: Resolved) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for index, group in enumerate(environment.cluster.groups):
        if group.scheduled_update is None:
            continue
        other = first.setdefault(group.scheduled_update.schedule, group.name)
        if other != group.name:
            yield Finding(at(index, *SCHEDULE), f"'{other}' begins at the same time")


@UPDATES.rule(
    "UPD-005",
    "Groups with an image of their own are not updated by HyperPod",
    why="HyperPod updates to its own newest image: what was built into yours would be gone.",
    fix="remove image_id, or the update, and change image_id when you have built a newer one",
    source=f"{API}API_UpdateClusterSoftware.html",
    severity=Severity.WARNING,
)
def _own_images(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        for key in ("scheduled_update", "auto_patch"):
            if group.image_id and getattr(group, key):
                message = f"'{group.name}' has {group.image_id}, which this would replace"
                yield Finding(at(index, key), message, at_key=True)


@UPDATES.rule(
    "UPD-006",
    "A group is updated in one way",
    why="Scheduled updates and automatic patches both replace the image of the nodes; what "
    "overlaps may fail.",
    fix="remove one of the two",
    source=GROUP_SPECIFICATION,
    severity=Severity.WARNING,
)
def _one_way(environment: Environment, _: Resolved) -> Iterator[Finding]:
    for index, group in enumerate(environment.cluster.groups):
        if group.scheduled_update and group.auto_patch:
            message = f"'{group.name}' has a scheduled update too"
            yield Finding(at(index, "auto_patch"), message, at_key=True)


@UPDATES.rule(
    "UPD-007",
    "The controller is updated by hand",
    why="An update replaces the root volume. The controller keeps there the queue of jobs and, "
    "without a database of your own, the records of all jobs: they must be saved before.",
    fix="remove the key, and update the controller with what it keeps saved",
    source=f"{GUIDE}sagemaker-hyperpod-operate-slurm-cli-command.html",
    severity=Severity.WARNING,
)
def _controller_by_hand(environment: Environment, _: Resolved) -> Iterator[Finding]:
    if environment.slurm.multi_head:
        return
    for index, group in groups_with(environment, Role.CONTROLLER):
        for key in ("scheduled_update", "auto_patch"):
            if getattr(group, key):
                message = "the queue of jobs would be lost with the controller's root volume"
                yield Finding(at(index, key), message, at_key=True)


def _sound_schedules(environment: Environment) -> Iterator[tuple[int, Cron]]:
    """Yield the schedules that have a form that AWS takes."""
    for index, group in enumerate(environment.cluster.groups):
        cron = read_cron(group.scheduled_update.schedule) if group.scheduled_update else None
        if cron and not any(cron.wrong_fields()):
            yield index, cron
