"""Why a job waits, failed or did less than it seems: current causes, the surest first. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from slurmpod.aws.cluster import IN_SERVICE, Node
from slurmpod.operations.why.job_facts import JobNow
from slurmpod.operations.why.job_reasons import reason_of
from slurmpod.operations.why.job_sizes import refused, too_few_nodes
from slurmpod.operations.why.job_states import STATES
from slurmpod.operations.why.meanings import Meaning, meaning_of
from slurmpod.operations.why.story import Cause
from slurmpod.slurm.hostlist import expanded, folded

SETUP_SIGNAL = "53"
"""The signal by which slurmstepd ends a batch step whose files it could not open."""

FAULT = 75
"""From this weight on a report of a node explains how its job ended."""

FAILED = ("FAILED", "NODE_FAIL", "BOOT_FAIL", "TIMEOUT", "OUT_OF_MEMORY")

_NOT_OPENED = re.compile(
    r"Could not open std(?P<which>\w+) file (?:'(?P<quoted>[^']+)': '(?P<said>[^']+)'"
    r"|(?P<path>.+): (?P<why>[^:]+)$)"
)
"""slurmstepd 26.05 prints quotes, 24.11 does not."""

_INTERPRETER = re.compile(r"execve\(\): (?:bad interpreter\((?P<bad>[^)]*)\)|(?P<other>.*))")
_SLURMD_SAID = re.compile(r"(?:fatal|error): (?P<text>.*)")


def causes_of_job(job: JobNow, on_node: Meaning | None = None) -> list[Cause]:
    """Return the causes of a job's state; none if Slurm does not know it.

    `on_node` are the reports of its node while it ran.
    """
    if not job.is_known:
        return []
    sure = [*refused(job), *_pending(job), *_files(job), *_program(job), *_steps(job)]
    if sure or on_node is None or on_node.weight < FAULT or job.state not in FAILED:
        return sure or list(_state(job))
    return [Cause(on_node.says, on_node.fix), *_state(job)]


def causes_of_late_nodes(job: JobNow, nodes: Sequence[Node]) -> Iterator[Cause]:
    """Yield that a job has nodes without a running instance.

    HyperPod's nodes are CLOUD nodes: Slurm takes one that never came for one that is powered down,
    and allocates it to jobs.
    """
    names = expanded(job.nodes)
    late = [each for each in nodes if each.name in names and each.status != IN_SERVICE]
    if job.state != "CONFIGURING" or not late:
        return
    said = f"{late[0].status} {late[0].message}".strip()
    there = len(names) - len(late)
    instead = f"; or cancel it, and ask for what is there of them ({there})" if there else ""
    yield Cause(
        f"it waits for {folded([each.name for each in late])}, which Slurm can give away before"
        f" HyperPod has an instance: SageMaker says {said}",
        f"wait{instead}",
    )


def _pending(job: JobNow) -> Iterator[Cause]:
    if job.state != "PENDING":
        if job.state == "CANCELLED" and _is_killed_dependent(job):
            which = f" ({job.dependency})" if job.dependency else ""
            yield Cause(
                f"Slurm cancelled it: what it depends on did not end as it asks{which}",
                f"see why: slurmpod why ENV {_other(job)}; then submit both again",
            )
        return
    if lacking := too_few_nodes(job):
        yield Cause(
            f"it will not start: {lacking}",
            "cancel it (`scancel JOB`) and submit it with fewer nodes, or add nodes: slurmpod scale"
            " ENV GROUP COUNT",
        )
    reason = reason_of(job.reason or "None")
    if reason is None:
        yield Cause(
            f"it waits: {job.reason}",
            "squeue(1) explains each reason; see what else waits: slurmpod status ENV",
        )
        return
    facts = {**job.facts, "slurmd": _slurmd_said(job)}
    found = reason.of(facts)
    yield Cause(found.says, found.fix.replace("OTHER", _other(job)))


def _is_killed_dependent(job: JobNow) -> bool:
    said = any("dependency can't be satisfied, cancelling" in line for line in job.log)
    return said or ("DependencyNeverSatisfied" in job.reason and not job.cancelled_by)


def _other(job: JobNow) -> str:
    found = re.search(r":(\d+(?:_\d+)?)", job.dependency)
    return found[1] if found else "JOB"


def _slurmd_said(job: JobNow) -> str:
    said = [found["text"] for line in job.node_log if (found := _SLURMD_SAID.search(line))]
    fatal = [line for line in job.node_log if "fatal:" in line]
    text = fatal[0].partition("fatal: ")[2] if fatal else (said[0] if said else "")
    return f" (slurmd there says: {text})" if text else ""


def _files(job: JobNow) -> Iterator[Cause]:
    """Yield the file that could not be opened, so that the job never began."""
    if job.state != "FAILED":
        return
    said = next((found for line in job.node_log if (found := _NOT_OPENED.search(line))), None)
    has_begun = job.exit_code.partition(":")[2] != SETUP_SIGNAL
    if said is None and has_begun:
        return
    if said is None:
        yield Cause(
            f"its output file could not be opened, or another file that it names ({job.out}); the"
            " job never began",
            "see that the folder is there, and that its user may write in it",
        )
        return
    path, why = said["quoted"] or said["path"], (said["said"] or said["why"]).strip()
    what = "input" if said["which"] == "in" else "output"
    fix = f"make the folder first (`mkdir -p {path.rpartition('/')[0] or '/'}`), or name another"
    if what == "input":
        fix = "name a file that is there, as seen from the node,"
    elif "ermission" in why:
        fix = f"submit it from a folder where {job.facts['user']} may write, or name one"
    whose = "a step's" if has_begun else "its"
    yield Cause(
        f"{whose} {what} file could not be opened: {path}: {why}"
        f"{'' if has_begun else '; the job never began'}",
        f"{fix} with `--{what}`",
    )


def _program(job: JobNow) -> Iterator[Cause]:
    if job.state != "FAILED":
        return
    for line in job.node_log:
        found = _INTERPRETER.search(line)
        if found and ".batch]" in line:
            yield Cause(
                "the program that its first line names could not be started:"
                f" {found['bad'] or found['other']}",
                "correct the line that begins with #!, and submit it again",
            )
            return
        if found:
            yield Cause(
                f"a step could not start its program: {found['bad'] or found['other']}",
                "correct its name or path: it must be there on every node of the job",
            )
            return


def _steps(job: JobNow) -> Iterator[Cause]:
    """Yield failures of its steps although the script itself ended well."""
    memory = [step.name for step in job.steps if step.state == "OUT_OF_MEMORY"]
    if memory:
        found = meaning_of("OUT_OF_MEMORY", STATES)
        assert found is not None  # noqa: S101  # a row of the table
        yield Cause(f"{found.says} (step {', '.join(memory)})", found.fix)
    if job.state == "RUNNING":
        yield from _nothing_runs(job)
    if job.state != "COMPLETED":
        return
    numbered = [step for step in job.steps if step.name not in ("batch", "extern", "interactive")]
    cut = [step.name for step in numbered if step.state == "CANCELLED"]
    failed = [step for step in numbered if step.state == "FAILED"]
    if cut:
        which = f"step {cut[0]}" if len(cut) == 1 else f"steps {', '.join(cut)}"
        verb = "was" if len(cut) == 1 else "were"
        yield Cause(
            f"it COMPLETED, but {which} {verb} cancelled when the script ended, before they did",
            "add `wait` as the last line of the script, so that it waits for what runs in the"
            " background",
        )
    if failed:
        yield Cause(
            f"it COMPLETED, but step {failed[0].name} failed (exit {failed[0].exit_code}), and the"
            " script went on",
            "begin the script with `set -e`, so that it ends where a command fails; output: OUT",
        )


def _nothing_runs(job: JobNow) -> Iterator[Cause]:
    names = {step.name for step in job.steps}
    if job.is_batch or not job.is_asked_steps or names - {"extern"}:
        return
    found = meaning_of("RUNNING without a step", STATES)
    assert found is not None  # noqa: S101  # a row of the table
    yield Cause(found.says, found.fix)


def _state(job: JobNow) -> Iterator[Cause]:
    if job.state == "PENDING":
        return
    found = meaning_of(job.shown, STATES)
    if found is not None:
        yield Cause(found.says, found.fix)
