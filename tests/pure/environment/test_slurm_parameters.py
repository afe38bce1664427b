from __future__ import annotations

import pytest

from slurmpod.environment.slurm_parameters import Parameter, slurm_parameters

FREQUENCY = (
    "seconds, or a list of them for task, energy, network and filesystem (task=30,energy=60)"
)
PARAMETERS = list(slurm_parameters().values())


@pytest.mark.parametrize("name", ["DefCpuPerGPU", "DefMemPerGPU", "X11Parameters"])
def test_defaults_of_gpus_and_forwarded_windows_are_the_users(name: str) -> None:
    parameter = slurm_parameters()[name.lower()]
    assert (parameter.name, parameter.owner, parameter.since) == (name, "user", "")


def test_every_parameter_is_there_once() -> None:
    assert len(PARAMETERS) > 200
    names = [parameter.name for parameter in PARAMETERS]
    assert names == sorted(names, key=str.lower)


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda each: each.name)
def test_every_row_says_what_its_owner_needs(parameter: Parameter) -> None:
    is_the_users = parameter.owner == "user"
    assert bool(parameter.kind) is is_the_users
    assert bool(parameter.why) is not is_the_users
    assert bool(parameter.words) >= (parameter.kind in {"choice", "list"})
    assert (parameter.most > parameter.least) is (parameter.kind == "number")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SlurmdTimeout", "65533"),
        ("OverTimeLimit", "unlimited"),
        ("DisableRootJobs", "YES"),
        ("PriorityMaxAge", "7-0"),
        ("PriorityMaxAge", "12:00:00"),
        ("PriorityMaxAge", "INFINITE"),
        ("EnforcePartLimits", "all"),
        ("PrivateData", "jobs,USAGE"),
        ("TmpFS", "/opt/dlami/nvme"),
        ("DebugFlags", "whatever you like"),
        ("JobAcctGatherFrequency", "30"),
        ("JobAcctGatherFrequency", "task=30, energy=0"),
        ("SrunPortRange", "60001-63000"),
        ("MpiDefault", "openmpi"),
    ],
)
def test_values_that_slurm_reads_are_taken(name: str, value: str) -> None:
    assert slurm_parameters()[name.lower()].expected(value) == ""


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("SlurmdTimeout", "65534", "a whole number from 0 to 65533"),
        ("SlurmdTimeout", "-1", "a whole number from 0 to 65533"),
        ("SlurmdTimeout", "UNLIMITED", "a whole number from 0 to 65533"),
        ("SlurmdTimeout", "\u0661\u0662", "a whole number from 0 to 65533"),  # digits, not ASCII
        ("SlurmdTimeout", "9" * 900, "a whole number from 0 to 65533"),
        ("OverTimeLimit", "never", "a whole number from 0 to 65533, or UNLIMITED"),
        ("DisableRootJobs", "maybe", "YES or NO"),
        ("PriorityMaxAge", "a week", "a time such as 30, 12:00:00 or 7-00:00:00"),
        ("EnforcePartLimits", "SOME", "one of ALL, ANY, NO, YES"),
        ("TmpFS", "scratch", "an absolute path"),
        ("TmpFS", "/a b", "an absolute path"),
        ("Prolog", "/x;reboot", "an absolute path"),
        ("JobAcctGatherFrequency", "tasks=30", FREQUENCY),
        ("JobAcctGatherFrequency", "task", FREQUENCY),
        ("JobAcctGatherFrequency", "task=30,", FREQUENCY),
        ("SrunPortRange", "60001", "a range of ports up to 65535, such as 60001-63000"),
        ("SrunPortRange", "63000-60001", "a range of ports up to 65535, such as 60001-63000"),
        ("SrunPortRange", "60001-70000", "a range of ports up to 65535, such as 60001-63000"),
    ],
)
def test_other_values_are_answered_with_what_is_expected(
    name: str, value: str, expected: str
) -> None:
    assert slurm_parameters()[name.lower()].expected(value) == expected


def test_the_manual_is_pointed_at() -> None:
    source = slurm_parameters()["slurmdtimeout"].source
    assert source == "https://slurm.schedmd.com/slurm.conf.html#OPT_SlurmdTimeout"


@pytest.mark.parametrize(
    ("name", "option", "problem"),
    [
        ("MpiParams", "ports=12000-12999", ""),
        ("MpiParams", "ports=12999", "'ports' takes a range of ports, such as ports=60001-63000"),
        ("MpiParams", "ports", "'ports' takes a range of ports, such as ports=60001-63000"),
        ("MpiParams", "disable_slurm_hydra_bootstrap", ""),
        ("MpiParams", "disable_slurm_hydra_bootstrap=slurm", ""),
        ("MpiParams", "port=1-2", "Slurm knows no 'port' in MpiParams"),
        ("SlurmdParameters", "numa_node_as_socket", ""),
        (
            "SlurmdParameters",
            "numa_as_socket",
            "Slurm knows no 'numa_as_socket' in SlurmdParameters",
        ),
        ("SlurmdParameters", "conmgr_threads=x", "'conmgr_threads' takes a whole number, not 'x'"),
        (
            "JobAcctGatherParams",
            "OverMemoryKil",
            "Slurm knows no 'OverMemoryKil' in JobAcctGatherParams",
        ),
    ],
)
def test_options_are_held_against_those_of_the_manual(name: str, option: str, problem: str) -> None:
    assert slurm_parameters()[name.lower()].option_problem(option) == problem
