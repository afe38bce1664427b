"""Rules for jobs that resume after HyperPod has replaced a node."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurmpod.jobs.calls import Option, parse_options
from slurmpod.jobs.options import minutes
from slurmpod.jobs.registry import ScriptFinding, Topic
from slurmpod.jobs.script import DECLARING, SUBMITTING, Script, Step, node_count
from slurmpod.jobs.shell import APPENDING, Place
from slurmpod.jobs.training import is_measured, is_named_training, is_training
from slurmpod.problems import Severity

RESUME = Topic("JOB", "Jobs that resume")

AUTO_RESUME = (
    "https://docs.aws.amazon.com/sagemaker/latest/dg/"
    "sagemaker-hyperpod-resiliency-slurm-auto-resume.html"
)
TIMINGS = (
    "https://github.com/awslabs/awsome-distributed-ai/blob/main/1.architectures/"
    "5.sagemaker-hyperpod/tools/devops-agent/docs/hyperpod-mental-model.md"
)
CONTAINERS = ("container-image", "container-name")
WHOLE_NODES = frozenset({"", "topo"})
NOT_RUNNING = frozenset({"srun", *SUBMITTING, *DECLARING, "echo", "printf"})
"""Words before the name of a program which the batch script does not run itself."""

RESOURCES = ("gres", "gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket")
SHORTEST_MINUTES = 120
"""A node is replaced in 20 to 30 minutes, and patched for up to an hour before it takes jobs."""

SWITCHED_OFF = re.compile(r"\bresume_if_exists=(false|0)\b", re.IGNORECASE)


@RESUME.rule(
    "JOB-010",
    "--auto-resume is given to srun",
    why="It is an option of job steps, which HyperPod adds to srun. sbatch does not know it and "
    "refuses the script.",
    fix="remove it here, and write srun --auto-resume=1",
    source=AUTO_RESUME,
)
def _not_for_sbatch(script: Script) -> Iterator[ScriptFinding]:
    options = list(script.options)
    for words in script.calls("sbatch", "salloc"):
        options += parse_options(words, "sbatch", {}).options
    for option in options:
        if option.name == "auto-resume":
            yield ScriptFinding(option.place, "sbatch has no option --auto-resume")


@RESUME.rule(
    "JOB-011",
    "Training on several nodes has --auto-resume",
    why="HyperPod restarts only steps with this option after it has replaced a node; each srun "
    "needs its own. Without it the whole job ends. A Python program on several nodes counts as "
    "training, unless its name, or the job's, says that it tests, measures or prepares.",
    fix="write srun --auto-resume=1",
    source=AUTO_RESUME,
    severity=Severity.WARNING,
)
def _training_resumes(script: Script) -> Iterator[ScriptFinding]:
    if (script.fewest_nodes or 1) < 2 or is_measured(script):
        return
    for step in script.steps:
        is_meant = step.is_certain and is_training(step, script) and not _is_on_one_node(step)
        if is_meant and not step.option("auto-resume") and not _resumes_elsewhere(step, script):
            yield ScriptFinding(step.place, "this step is not restarted when a node is replaced")


@RESUME.rule(
    "JOB-012",
    "A job that resumes has its nodes alone",
    why="Auto-resume needs whole nodes: HyperPod replaces a node under the job.",
    fix="add #SBATCH --exclusive",
    source=AUTO_RESUME,
)
def _has_whole_nodes(script: Script) -> Iterator[ScriptFinding]:
    exclusive = script.option("exclusive")
    if exclusive and exclusive.value in WHOLE_NODES:
        return
    for step in script.resuming_steps[:1]:
        yield ScriptFinding(step.place, "the job resumes, but is not --exclusive")


@RESUME.rule(
    "JOB-013",
    "A job that starts again keeps its output",
    why="A job that is requeued has the same id and the same output file, which sbatch empties "
    "when the job starts: the reason for the failure is then lost. Slurm requeues every job whose "
    "node fails, unless it says --no-requeue.",
    fix="add #SBATCH --open-mode=append",
    source="https://slurm.schedmd.com/sbatch.html#OPT_open-mode",
    severity=Severity.WARNING,
)
def _appends(script: Script) -> Iterator[ScriptFinding]:
    said = _requeueing(script)
    if script.appends:
        return
    if script.steps and all(_has_own_log(step, script) for step in script.steps):
        return
    places = [said.place] if said and said.name == "requeue" else []
    places += [each.place for each in script.resuming_steps if not _has_own_log(each, script)]
    places += [] if said else _places_of_training(script)
    for place in places[:1]:
        yield ScriptFinding(place, "when the job starts again, its output so far is deleted")


@RESUME.rule(
    "JOB-014",
    "A job that resumes and asks for GRES says --requeue",
    why="With generic resources HyperPod does not restart the step: it requeues the job, and the "
    "script runs from its beginning.",
    fix="add #SBATCH --requeue, and make sure that the script can run twice",
    source=AUTO_RESUME,
    severity=Severity.WARNING,
)
def _gres_requeues(script: Script) -> Iterator[ScriptFinding]:
    said = _requeueing(script)
    if not script.resuming_steps or (said and said.name == "requeue"):
        return
    asked = [script.option(name) for name in RESOURCES]
    asked += [step.option(name) for step in script.resuming_steps for name in RESOURCES]
    places = [option.place for option in asked if option and option.value != "none"]
    for place in places[:1]:
        yield ScriptFinding(place, "with GRES the job is requeued, not resumed")


@RESUME.rule(
    "JOB-015",
    "A job that resumes has time for it",
    why="A node is replaced in 20 to 30 minutes and may be patched for an hour. The job's time "
    f"goes on. With less than {SHORTEST_MINUTES} minutes it is over before it resumes. For a "
    "short test that may be intended.",
    fix=f"ask for {SHORTEST_MINUTES // 60} hours or more, or leave it if the job may end",
    source=TIMINGS,
    severity=Severity.NOTE,
)
def _has_time(script: Script) -> Iterator[ScriptFinding]:
    time = script.option("time")
    wanted = minutes(time.value) if time else None
    if time and wanted is not None and wanted < SHORTEST_MINUTES and script.resuming_steps:
        yield ScriptFinding(time.place, f"{time.value} leaves no time to replace a node")


@RESUME.rule(
    "JOB-016",
    "A job that resumes does not start from zero",
    why="NeMo's experiment manager ignores the checkpoints that are there with "
    "resume_if_exists=False: the step that HyperPod restarts begins again.",
    fix="write resume_if_exists=True",
    source="https://docs.nvidia.com/nemo-framework/user-guide/latest/nemotoolkit/core/exp_manager.html",
    severity=Severity.WARNING,
)
def _loads_checkpoints(script: Script) -> Iterator[ScriptFinding]:
    if script.resuming_steps or script.option("requeue"):
        for place in script.places(SWITCHED_OFF):
            yield ScriptFinding(place, "checkpoints are not loaded")


@RESUME.rule(
    "JOB-017",
    "A step that resumes is in no container of srun",
    why="Reports disagree whether srun takes --auto-resume beside the options of pyxis. If pyxis "
    "is not loaded, srun refuses them, or the job runs outside the container. Also, a container "
    "has no scontrol, which the step needs to list its current nodes.",
    fix="start the container in the script that srun starts, or test on two nodes that it resumes",
    source="https://github.com/aws-samples/sample-physical-ai-scaffolding-kit/issues/5",
    severity=Severity.WARNING,
)
def _is_in_no_container(script: Script) -> Iterator[ScriptFinding]:
    for step in script.resuming_steps:
        options = (step.option(name) or script.option(name) for name in CONTAINERS)
        option = next(filter(None, options), None)
        resume = step.auto_resume
        if option and resume and not script.never_meet(option, resume):
            message = f"--auto-resume beside --{option.name} may not work"
            yield ScriptFinding(option.place, message)


def recognises_training(script: Script) -> bool:
    """Return whether some step, or the batch script itself, looks like training."""
    in_steps = any(is_training(step, script) for step in script.steps)
    return in_steps or bool(_places_of_training(script))


def _requeueing(script: Script) -> Option | None:
    """Return the last word of a job on whether Slurm starts it again; None for Slurm's default."""
    said = [option for option in script.options if option.name in ("requeue", "no-requeue")]
    return said[-1] if said else None


def _places_of_training(script: Script) -> list[Place]:
    """Return the positions where the job certainly trains, in steps or in the batch script."""
    if is_measured(script):
        return []
    places = [
        step.place
        for step in script.steps
        if is_training(step, script, is_named_training) and not _has_own_log(step, script)
    ]
    own = (call for call in script.called if call.name not in NOT_RUNNING)
    return places + [call.program.place for call in own if is_named_training(call, script.values)]


def _has_own_log(step: Step, script: Script) -> bool:
    """Return whether a step appends its output to a file that sbatch does not empty."""
    mode = step.option("open-mode")
    appends = mode is not None and mode.value.startswith("a")
    is_sent_on = bool(APPENDING & script.parsed.operators_of(step.place))
    return is_sent_on or bool(appends and step.option("output"))


def _resumes_elsewhere(step: Step, script: Script) -> bool:
    """Return whether another branch has the step that resumes, such as the one on HyperPod."""
    places = (other.place for other in script.resuming_steps)
    return any(script.parsed.exclude(step.place, place) for place in places)


def _is_on_one_node(step: Step) -> bool:
    """Return whether a step has one node of several: it asks for one, or for one process."""
    return 1 in (node_count(step.option("nodes")), node_count(step.option("ntasks")))
