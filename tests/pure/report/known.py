"""What the tests of reports share: an environment with a past that was made up for it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from slurmpod.aws.stack_events import ResourceRun, StackRun
from slurmpod.metrics.dashboards import DASHBOARDS
from slurmpod.metrics.picture import Series, panel_picture
from slurmpod.operations.attempt import Unavailable
from slurmpod.operations.goodput import read_goodput
from slurmpod.operations.idle_checks import CheckedNode, CheckedNodes, CheckResult
from slurmpod.operations.job_records import last_jobs
from slurmpod.operations.lifecycle import NodeReport, StepReport
from slurmpod.operations.panel_pictures import PanelPicture
from slurmpod.operations.status import status_of
from slurmpod.plan.plan import plan_of
from slurmpod.reading.read import read_as
from slurmpod.report.findings import findings_of
from slurmpod.report.page import Known
from slurmpod.report.record import FaultMoment, FaultRecord, Record, Rehearsed
from slurmpod.report.timeline import CLUSTER
from slurmpod.rules.check import sound
from tests.pure.operations.cluster_at_work import NOW, Cluster
from tests.pure.plan.planned import PRICES, resolved
from tests.sound_environment import SOUND

BEGAN = datetime(2026, 11, 23, 21, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """Return a time so many seconds after the deployment began."""
    return BEGAN + timedelta(seconds=seconds)


def resource(name: str, began: float, ended: float | None, **more: Any) -> ResourceRun:
    end = None if ended is None else at(ended)
    return ResourceRun(
        name, more.pop("type", "AWS::X::Y"), at(began), end, "CREATE_COMPLETE", **more
    )


def stack(name: str, began: float, ended: float | None, *resources: ResourceRun) -> StackRun:
    status = "CREATE_IN_PROGRESS" if ended is None else "CREATE_COMPLETE"
    return StackRun(name, at(began), None if ended is None else at(ended), status, resources)


RUNS = (
    stack("dev-network", 0, 60, resource("Vpc", 0, 40), resource("Endpoint", 40, 60)),
    stack("dev-cluster", 70, 370, resource("Cluster", 70, 370, type=CLUSTER)),
)


def report(name: str, ended: float, *, group: str = "workers", seconds: float = 20) -> NodeReport:
    """Return what a node reported whose scripts took so long, most of it in slurmd."""
    steps = (
        StepReport("identify", "done", True, 1.0, "", ""),
        StepReport("slurmd", "done", True, seconds - 1, "", ""),
    )
    return NodeReport(
        group,
        f"i-{name}",
        "Running",
        name,
        steps,
        "OK",
        succeeded=True,
        slowest_path=("identify", "slurmd"),
        ended=at(ended).isoformat(),
    )


NODES = (report("ip-10-0-0-4", 200, group="controller"), report("ip-10-0-1-1", 360, seconds=90))
LAUNCHED = {node.instance_id: at(80) for node in NODES}
PANEL = DASHBOARDS[0].panels[0]
PANELS = (
    PanelPicture(
        "Cluster", PANEL.title, panel_picture(PANEL, [Series("idle", [(0.0, 1.0), (60.0, 2.0)])])
    ),
)
RECORDS = "7|alice|cpu|2|COMPLETED|1795467600|1795467610|1795467700|train|with bars\n"
GOODPUT = read_goodput("COMPLETED|10800|3600\nNODE_FAIL|3600|0\nRUNNING|7200|0\n")
CHECKS = CheckedNodes(
    (
        CheckedNode(
            "ip-10-0-1-3",
            "workers",
            5,
            2,
            (
                CheckResult(at(0), "i-3", "", {}, ("/scratch cannot be used: Read-only",), ()),
                CheckResult(at(9), "i-3", "ip-10-0-1-1", {"pair MiB/s": 3000.0}, (), ("no dcgmi",)),
            ),
        ),
        CheckedNode("ip-10-0-1-1", "workers", 1, 0, (CheckResult(at(7), "i-1", "", {}, (), ()),)),
    ),
    more=7,
)
FAULT = FaultRecord(
    "network-cut",
    "A node's network is cut",
    0.9,
    3.0,
    (),
    (FaultMoment(0.0, "injected", "cut"), FaultMoment(10.0, "recovered", "idle again")),
)


def known(**record: Any) -> Known:
    """Return a deployed environment of which all is known, but for what is given here."""
    found = sound(read_as("environments/dev.yaml", SOUND))
    whole = Record(
        status=status_of(Cluster().sources(), resolved(), NOW),
        runs=RUNS,
        nodes=NODES,
        launched=LAUNCHED,
        jobs=last_jobs(RECORDS),
        goodput=GOODPUT,
        checks=CHECKS,
        panels=PANELS,
    )
    return Known(
        file="environments/dev.yaml",
        resolved=found.resolved,
        plan=plan_of(found.resolved, PRICES),
        findings=findings_of(found),
        record=replace(whole, **record),
    )


def planned() -> Known:
    """Return an environment of which nothing but the plan is known."""
    return replace(known(), record=Unavailable("no credentials"))


def rehearsed(*, failure: str = "") -> Known:
    """Return what is known of a rehearsal with a fault."""
    return known(rehearsed=Rehearsed("dev-1a2b3c", failure=failure, faults=(FAULT,)))
