"""Rules about the `slurm` section on files with several mistakes at once, and their messages."""

from __future__ import annotations

import pytest

from slurmpod.problems import Problem
from slurmpod.reading.read import read_as
from slurmpod.rules.check import check
from tests.sound_environment import SOUND

WHOLE = """\
slurm:
  accounting: {accounting}
  config_strategy: Overwrite
  partitions:
    - {{name: nowhere, max_time: "00:00:00", default_time: 1-00:00:00, max_nodes: 99, qos: huge}}
    - {{name: cpu, default: true, allowed_qos: [huge, root], allowed_accounts: [nobody]}}
    - {{name: cpu, default: true}}
  qos:
    - {{name: normal, preempts: [normal, huge], preempt_mode: cancel, priority: 4294967293}}
    - {{name: normal, max_resources_per_job: {{gres/tpu: 0, mem: 9999999999}}, max_time: UNLIMITED}}
  accounts:
    - {{name: root, parent: root, default_qos: huge}}
    - {{name: a, parent: b, total_resources: {{cpu: 99999}}}}
    - {{name: b, parent: a, total_resources: {{cpu: 1, gres/gpu: 8}}, shares: 9}}
  fair_share: {{fair_share_weight: 4294967293, qos_weight: 4294967293, partition_weight: 1}}
  settings:
    NodeName: x
    SLURMDTIMEOUT: "9999999999999999999999"
    slurmdtimeout: 0
    MaxArraySize: none
    FirstJobId: 5
    MaxJobId: 5
    Nonsense: 1
"""


def problems(slurm: str, environment: str = SOUND) -> tuple[Problem, ...]:
    return check(read_as("any.yaml", environment + slurm))


@pytest.mark.parametrize("accounting", ["true", "false"])
@pytest.mark.parametrize("mode", ["customer", "extended", "managed"])
@pytest.mark.parametrize("instance_type", ["ml.m5.xlarge", "ml.x9.new", "ml.p5.48xlarge"])
def test_all_mistakes_together_are_problems_and_no_crash(
    accounting: str, mode: str, instance_type: str
) -> None:
    environment = SOUND.replace("ml.m5.xlarge", instance_type) + f"lifecycle: {{mode: {mode}}}\n"
    found = {problem.rule for problem in problems(WHOLE.format(accounting=accounting), environment)}
    assert "RUL-001" not in found
    assert {"PAR-001", "PAR-002", "PAR-003", "QOS-001", "ACC-003", "SET-001", "SET-008"} <= found


@pytest.mark.parametrize(
    ("slurm", "message", "fix"),
    [
        (
            "{settings: {SlurmTimeout: 60}}",
            "Slurm knows no parameter SlurmTimeout",
            "did you mean 'SlurmdTimeout'?",
        ),
        (
            "{settings: {SuspendTime: 600}}",
            (
                "SuspendTime is HyperPod's: HyperPod keeps as many nodes as the groups count; Slurm"
                " cannot stop or start them, and would take running ones for switched off"
            ),
            "remove the parameter",
        ),
        (
            "{settings: {PriorityWeightAge: 5}}",
            "PriorityWeightAge is not set here: use slurm.fair_share",
            "remove the parameter and use what the message names",
        ),
        (
            "{partitions: [{name: cpus, priority_tier: 1}]}",
            "no group is in the partition 'cpus'",
            "did you mean 'cpu'?",
        ),
        (
            "{partitions: [{name: dev, qos: norma}]}",
            "there is no QOS 'norma'",
            "did you mean 'normal'?",
        ),
    ],
)
def test_messages_say_the_reason_and_the_way_out(slurm: str, message: str, fix: str) -> None:
    (problem,) = problems(f"slurm: {slurm}\n")
    assert (problem.message, problem.fix) == (message, fix)


@pytest.mark.parametrize(
    "settings", ["DefCpuPerGPU: 12, DefMemPerGPU: 100000", "X11Parameters: home_xauthority"]
)
def test_rare_parameters_are_parameters_of_slurm(settings: str) -> None:
    environment = SOUND.replace("ml.m5.xlarge", "ml.g5.12xlarge")
    assert problems(f"slurm: {{settings: {{{settings}}}}}\n", environment) == ()


@pytest.mark.parametrize(
    ("names", "second"),
    [
        (("DefMemPerCPU", "DefMemPerGPU"), ["DefMemPerGPU"]),
        (("DefMemPerNode", "DefMemPerGPU"), ["DefMemPerGPU"]),
        (("DefMemPerCPU", "DefMemPerNode", "DefMemPerGPU"), ["DefMemPerNode", "DefMemPerGPU"]),
    ],
)
def test_of_parameters_that_exclude_each_other_one_is_left(
    names: tuple[str, ...], second: list[str]
) -> None:
    settings = ", ".join(f"{name}: 4000" for name in names)
    found = problems(f"slurm: {{settings: {{{settings}}}}}\n")
    assert {problem.rule for problem in found} == {"TOG-005"}
    assert {problem.where.path for problem in found} == {
        f"slurm.settings.{name}" for name in second
    }


@pytest.mark.parametrize(
    ("slurm", "warns"),
    [
        ("  partitions: [{name: dev, max_time: 1-00:00:00}]\n", True),
        ("  accounts: [{name: a, total_resources: {cpu: 2}}]\n", True),
        ("  accounts: [{name: a}]\n", False),
    ],
)
def test_overwrite_interrupts_whatever_reaches_slurm_conf(slurm: str, warns: bool) -> None:
    lifecycle = "lifecycle: {mode: extended}\n"
    found = problems(f"{lifecycle}slurm:\n  config_strategy: Overwrite\n{slurm}")
    assert ("TOG-009" in {problem.rule for problem in found}) is warns


@pytest.mark.parametrize(
    ("settings", "message", "fix"),
    [
        (
            "MaxTime: 1-00:00:00",
            (
                "MaxTime is no parameter of the whole cluster: it is an option of a partition: "
                "write max_time in slurm.partitions"
            ),
            "remove it from settings",
        ),
        (
            "QuantumEntanglement: 1",
            "no Slurm from 24.11 to 26.05 knows QuantumEntanglement",
            "remove the parameter, or correct its name",
        ),
        (
            "PreemptMode: REQUEUE",
            "PreemptMode=REQUEUE needs PreemptType=preempt/partition_prio or preempt/qos",
            "add 'PreemptType: preempt/qos', or preempt/partition_prio",
        ),
        (
            "PreemptMode: SUSPEND, PreemptType: preempt/qos",
            "PreemptMode=SUSPEND needs PreemptMode=GANG",
            "write SUSPEND,GANG",
        ),
        (
            "SelectType: select/linear",
            "SelectType=select/linear does not go with SelectTypeParameters=CR_Core",
            "add 'SelectTypeParameters: CR_Memory', or remove 'SelectType'",
        ),
        (
            "TaskPluginParam: OOMKillStep",
            "TaskPluginParam=OOMKillStep needs TaskPlugin=task/cgroup",
            "remove OOMKillStep: HyperPod sets task/none",
        ),
        (
            "SchedulerParameters: 'bf_continue,bf_interal=30'",
            "Slurm knows no 'bf_interal' in SchedulerParameters",
            "did you mean 'bf_interval'?",
        ),
        (
            "SchedulerParameters: bf_interval",
            "'bf_interval' needs a value, such as bf_interval=10",
            "correct the word, or remove it",
        ),
        (
            "SchedulerParameters: bf_hetjob_prio=most",
            "'bf_hetjob_prio' takes avg, max, min, not 'most'",
            "correct the word, or remove it",
        ),
        (
            "JobSubmitPlugins: 'require_timelimit,lua'",
            ("lua needs /opt/slurm/etc/job_submit.lua, and nothing here puts it on the controller"),
            "remove the parameter, or put the file there in lifecycle.hooks.controller.before",
        ),
        (
            "JobSubmitPlugins: job_submit/require_timelimt",
            "Slurm comes without a plugin 'require_timelimt' for JobSubmitPlugins",
            "did you mean 'require_timelimit'?",
        ),
        (
            "SchedulerParameters: requeue_delay=5",
            "'requeue_delay=5' came with Slurm 25.11: 24.11 does not know it",
            ("make sure that /opt/slurm leads to the newer version, then accept the warning"),
        ),
    ],
)
def test_settings_that_slurm_refuses_or_ignores(settings: str, message: str, fix: str) -> None:
    found = {
        (each.message, each.fix) for each in problems(f"slurm: {{settings: {{{settings}}}}}\n")
    }
    assert found == {(message, fix)}


def test_qos_that_preempt_others_bring_what_preempt_mode_needs() -> None:
    qos = "qos: [{name: high, preempts: [low]}, {name: low}]"
    assert problems(f"slurm: {{{qos}, settings: {{PreemptMode: CANCEL}}}}\n") == ()
    found = problems(f"slurm: {{{qos}, settings: {{PreemptMode: SUSPEND}}}}\n")
    assert [(each.rule, each.fix) for each in found] == [("TOG-010", "write SUSPEND,GANG")]


def test_what_somebody_may_put_on_the_controller_is_a_warning() -> None:
    environment = SOUND.replace("ml.m5.large", "ml.m5.large\n      image_id: ami-0123456789abcdef0")
    found = problems("slurm: {settings: {JobSubmitPlugins: lua}}\n", environment)
    assert [each.rule for each in found if each.rule.startswith("SET")] == ["SET-009"]
