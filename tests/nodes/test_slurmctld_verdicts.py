"""The rules' verdicts on slurm.conf, compared with the real slurmctld of each node image.

Each configuration gets its own slurmctld in separate namespaces, without munge and without a
database: it exits by itself if it rejects the configuration, and is stopped once it runs.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from slurmpod.environment.slurm_combinations import (
    COMBINATIONS,
    FILES_OF_PLUGINS,
    SCRIPT_OF_CLI_FILTER,
    Combination,
)
from slurmpod.environment.slurm_parameters import Parameter, slurm_parameters
from slurmpod.platform_profiles.slurm_versions import SlurmVersion
from slurmpod.problems import Severity
from slurmpod.reading.read import read_as
from slurmpod.rehearsal.nodes.image import bake
from slurmpod.rules.check import check
from tests.sound_environment import SOUND


@pytest.fixture(scope="module", params=[*SlurmVersion])
def slurm(request: pytest.FixtureRequest) -> SlurmVersion:
    return SlurmVersion(request.param)


@pytest.fixture(scope="module")
def image(image: Path, slurm: SlurmVersion) -> Path:
    """The image of each version of Slurm, one after another."""
    return bake(print, slurm=slurm)


AT_ONCE = 6
"""They mostly wait: a slurmctld takes a twentieth of a second of CPU time to start."""

MOMENT_SECONDS = 0.2
"""The scheduler reads its parameters in a separate thread, when slurmctld runs already."""

ITS_CONFIGURATION: Mapping[str, str] = {
    "ClusterName": "trial",
    "SlurmctldHost": "controller(10.0.0.1)",
    "SlurmUser": "root",
    "AuthType": "auth/none",
    "CredType": "cred/none",
    "ProctrackType": "proctrack/linuxproc",
    "SelectType": "select/cons_tres",
    "SelectTypeParameters": "CR_Core",
    "TaskPlugin": "task/none",
    "StateSaveLocation": "/srv/state",
    "SlurmctldPidFile": "/srv/slurmctld.pid",
    "MailProg": "/bin/true",
    "GresTypes": "gpu",
}
NODES = """\
NodeName=n1 NodeAddr=10.0.0.2 CPUs=4 RealMemory=1000 State=CLOUD
PartitionName=dev Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
START = """
mount --make-rprivate / && mount --bind "$1" /mnt && mount --bind "$2" /mnt/srv &&
mount -t proc proc /mnt/proc && ip address add 10.0.0.1/24 dev lo && ip link set lo up &&
hostname controller && exec timeout --signal=KILL 20 chroot /mnt slurmctld -D -f /srv/slurm.conf
"""
NAMESPACES = ("unshare", "--mount", "--net", "--uts", "--pid", "--fork", "--kill-child")
RUNS = "Running as primary controller"
COMPLAINT = re.compile(r"error: (?!High latency|If using PrologFlags|Could not open|NOTE: Trying)")


@dataclass(frozen=True)
class Verdict:
    """Whether slurmctld ran, and its errors."""

    runs: bool
    complaints: tuple[str, ...]

    @property
    def is_good(self) -> bool:
        return self.runs and not self.complaints


def verdicts(image: Path, trials: Iterable[Mapping[str, str]]) -> list[Verdict]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda settings: _verdict(image, settings), trials))


def _verdict(image: Path, settings: Mapping[str, str], nodes: str = NODES) -> Verdict:
    given = {name.lower() for name in settings}
    own = {name: value for name, value in ITS_CONFIGURATION.items() if name.lower() not in given}
    lines = [f'{name}="{value}"\n' for name, value in {**own, **settings}.items()]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "state").mkdir()
        Path(folder, "slurm.conf").write_text("".join(lines) + nodes)
        command = [*NAMESPACES, "sh", "-c", START, "sh", str(image), folder]
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as process:
            said = list(_lines(process))
    return Verdict(
        any(RUNS in line for line in said),
        tuple(line for line in said if COMPLAINT.search(line)),
    )


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    """Yield slurmctld's output, until it ended or has run for a moment; no process remains."""
    assert process.stderr
    for line in process.stderr:
        yield line.strip()
        if RUNS in line:
            time.sleep(MOMENT_SECONDS)
        if RUNS in line or "retrying in 1sec" in line:
            break
    process.kill()
    yield from map(str.strip, process.stderr)  # ends with the last process of the namespaces


def finds_errors(settings: Mapping[str, str]) -> bool:
    lines = "".join(f'    {name}: "{value}"\n' for name, value in settings.items())
    problems = check(read_as("any.yaml", f"{SOUND}slurm:\n  settings:\n{lines}"))
    return any(
        each.severity is Severity.ERROR and each.rule[:3] in {"RES", "SET", "TOG"}
        for each in problems
    )


def broken(row: Combination) -> dict[str, str]:
    """Return values that break a row of the table, as little as possible."""
    word = row.words[0] if row.words else "anything"
    if row.other == row.parameter and row.forbidden:
        more = next(each for each in row.forbidden if each != word)
        return {row.parameter: f"{word},{more}"}
    if row.forbidden:
        return {row.parameter: word, row.other: row.forbidden[0]}
    if row.parameter == "SelectType":
        return {row.parameter: word, row.other: "CR_LLN"}
    return {row.parameter: word}


PAIRS: list[dict[str, str]] = [
    *(
        {"PreemptType": kind, "PreemptMode": mode}
        for kind in ("preempt/none", "preempt/partition_prio", "preempt/qos")
        for mode in (
            "OFF",
            "GANG",
            "CANCEL",
            "REQUEUE",
            "SUSPEND",
            "SUSPEND,GANG",
            "CANCEL,WITHIN",
            "REQUEUE,GANG",
            "SUSPEND,GANG,WITHIN",
            "REQUEUE,CANCEL",
        )
    ),
    *(
        {"SelectType": kind, "SelectTypeParameters": consumed}
        for kind in ("select/linear", "select/cons_tres")
        for consumed in ("CR_Core", "CR_Memory", "CR_CPU_Memory,CR_LLN", "CR_Pack_Nodes")
    ),
    {"MCSPlugin": "mcs/account", "MCSParameters": "ondemand"},
    {"MCSPlugin": "mcs/group", "MCSParameters": "ondemand,enforced,privatedata:root"},
    {"SlurmSchedLogLevel": "1", "SlurmSchedLogFile": "/srv/sched.log"},
    {"PrologFlags": "X11", "ProctrackType": "proctrack/cgroup"},
    {"LaunchParameters": "enable_nss_slurm,use_interactive_step"},
    {"MaxTime": "60"},
    {"ConstrainRAMSpace": "yes"},
    {"QuantumEntanglement": "1"},
    {"DebugFlags": "Backfil"},
    {"DebugFlags": "Backfill,Steps"},
    {"SchedulerParameters": "bf_interval=often"},
    {"SchedulerParameters": "bf_interval=60,bf_continue"},
    {"MCSPlugin": "mcs/account", "MCSParameters": "enforced,select,privatedata:root"},
    {"CertmgrType": "certmgr/script", "CertmgrParameters": "sign_csr_script=/bin/true"},
    *(
        {parameter: value}
        for parameter, values in {
            "AcctGatherEnergyType": ("rapl", "acct_gather_energy/gpu", "rapl,nothing"),
            "AcctGatherInterconnectType": ("sysfs", "acct_gather_interconnect/efa"),
            "AcctGatherFilesystemType": ("acct_gather_filesystem/lustre", "lustre"),
            "AcctGatherProfileType": ("acct_gather_profile/none", "acct_gather_profile/csv"),
            "BcastExclude": ("none", "/lib,/usr", "/lib,usr", "/lib, /usr", "/lib,none"),
            "CertmgrType": ("certmgr/none",),
            "CpuFreqDef": ("ondemand", "high", "2400000"),
            "CpuFreqGovernors": ("OnDemand,Performance", "OnDemand,fast"),
            "Licenses": ("matlab", "a:1,b=2", "a:1;b:2", "a:x", "a:-1", "a:1:2", "a:1, b:2"),
            "NodeFeaturesPlugins": ("helpers_of_ours", "gpu"),
            "PrioritySiteFactorPlugin": ("site_factor/example", "example", "site_factor/ours"),
            "PriorityWeightTRES": (
                "CPU=1000,Mem=2.5K",
                "billing=1,fs/disk=.5",
                "gpu=10",
                "gres/gpu=10",
                "cpu",
                "cpu:3",
                "cpu=x",
                "cpu=1Z",
                "cpu=1, mem=2",
            ),
            "RequeueExit": ("1,10-19", "256", "5-1", "x", "1,"),
            "SbcastParameters": ("DestDir=/tmp",),
        }.items()
        for value in values
    ),
]


def test_pairs_of_parameters_are_judged_alike(image: Path) -> None:
    trials = [*(broken(row) for row in COMBINATIONS), *PAIRS]
    differ = [
        (settings, verdict)
        for settings, verdict in zip(trials, verdicts(image, trials), strict=True)
        if verdict.is_good == finds_errors(settings)
    ]
    assert differ == []


def test_every_row_stands_for_something_that_slurmctld_refuses(image: Path) -> None:
    trials = [broken(row) for row in COMBINATIONS]
    assert [
        each
        for each, verdict in zip(trials, verdicts(image, trials), strict=True)
        if verdict.is_good
    ] == []


def test_plugins_need_their_files(image: Path) -> None:
    trials = [
        {parameter: f"jobcomp/{plugin}" if parameter == "JobCompType" else plugin}
        for parameter, plugin in FILES_OF_PLUGINS
    ]
    assert [each.runs for each in verdicts(image, trials)] == [False] * len(trials)


USES_CLI_FILTER = """
mount --make-rprivate / && mount --bind "$1" /mnt && mount --bind "$2" /mnt/srv && ip link set lo up
SLURM_CONF=/srv/slurm.conf chroot /mnt timeout --signal=KILL 10 sbatch --wrap true 2>&1 | head -n 1
"""


@pytest.mark.parametrize("has_script", [False, True])
def test_sbatch_does_not_start_without_the_script_of_cli_filter(
    image: Path, tmp_path: Path, *, has_script: bool
) -> None:
    settings = {**ITS_CONFIGURATION, "CliFilterPlugins": "lua"}
    lines = [f'{name}="{value}"\n' for name, value in settings.items()]
    (tmp_path / "slurm.conf").write_text("".join(lines) + NODES)
    if has_script:
        hooks = ("setup_defaults(o, e)", "pre_submit(o, p)", "post_submit(o, j, s)")
        script = "".join(f"function slurm_cli_{hook} return slurm.SUCCESS end\n" for hook in hooks)
        (tmp_path / Path(SCRIPT_OF_CLI_FILTER).name).write_text(script)
    command = [*NAMESPACES, "sh", "-c", USES_CLI_FILTER, "sh", str(image), str(tmp_path)]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert said
    assert ("cli_filter/lua: Unable to stat" in said) != has_script


PREFIXES = {
    "AcctGatherEnergyType": "acct_gather_energy",
    "AcctGatherInterconnectType": "acct_gather_interconnect",
    "CliFilterPlugins": "cli_filter",
    "JobSubmitPlugins": "job_submit",
    "NodeFeaturesPlugins": "node_features",
    "PrEpPlugins": "prep",
}
LEFT_OUT_BY_DEBIAN = {"hdf5", "influxdb", "ipmi", "ofed", "xcc"}
"""Plugins in Slurm's sources that Debian's build lacks the libraries for."""


def test_plugins_that_come_with_slurm_are_in_its_folder(image: Path) -> None:
    (folder,) = image.glob("usr/lib/*/slurm-wlm")
    plugins = [
        f"{PREFIXES[parameter.name]}/{word}" if parameter.kind == "plugins" else word
        for parameter in slurm_parameters().values()
        if parameter.kind in {"plugin", "plugins"}
        for word in parameter.words
    ]
    files = {
        f"{plugin.replace('/', '_')}.so"
        for plugin in plugins
        if plugin.rpartition("/")[2] not in {"none", *LEFT_OUT_BY_DEBIAN}
    }
    assert files <= {file.name for file in folder.iterdir()}
    (unknown,) = verdicts(image, [{"JobSubmitPlugins": "require_timelimt"}])
    assert not unknown.runs
    assert finds_errors({"JobSubmitPlugins": "require_timelimt"})


def is_known(word: str, parameter: Parameter, slurm: str) -> bool:
    """Return whether this version knows a word of a parameter."""
    name = word.removesuffix("=N").lower()
    since, until = parameter.words_since.get(name, ""), parameter.words_until.get(name, "99")
    return since <= slurm < until


def not_yet(parameter: Parameter, slurm: str) -> set[str]:
    """Return words that a later version added; an earlier one may have them elsewhere."""
    return {word for word, since in parameter.words_since.items() if slurm < since}


def accepted(parameter: Parameter, slurm: str) -> list[str]:
    """Return values that the rules accept, among them the extremes."""
    if parameter.kind == "number":
        return [str(parameter.least), str(parameter.most), *parameter.words]
    if parameter.kind in {"choice", "list", "options"}:
        known = [each for each in parameter.words if is_known(each, parameter, slurm)]
        return [re.sub("=N$", "=30", each) for each in known]
    return {"yes_no": ["YES", "no"], "time": ["7-0", "UNLIMITED"], "period": ["5"]}.get(
        parameter.kind, []
    )


APART = {
    *(name for row in COMBINATIONS for name in (row.parameter, row.other)),
    *("DefMemPerCPU", "DefMemPerNode", "DefMemPerGPU", "MaxMemPerCPU", "MaxMemPerNode"),
    *("FirstJobId", "MaxJobId", "MessageTimeout", "UnkillableStepTimeout", "MinJobAge"),
    *("SlurmctldDebug", "SlurmdDebug", "HealthCheckTimeout", "HealthCheckInterval"),
    *("AccountingStorageEnforce", "JobAcctGatherParams"),
    *("PropagateResourceLimits", "PriorityFlags"),
}
"""Parameters whose values depend on each other or on a database, or silence slurmctld."""


def test_values_that_the_rules_accept_are_slurms(image: Path, slurm: str) -> None:
    """The first start has the first value of every parameter, the second the second ones ..."""
    values = {
        each.name: accepted(each, slurm)
        for each in slurm_parameters().values()
        if each.owner == "user" and each.since <= slurm and each.name not in APART
    }
    trials = [
        {name: words[turn] for name, words in values.items() if turn < len(words)}
        for turn in range(max(map(len, values.values())))
    ]
    differ = [
        (settings if len(settings) < 9 else number, verdict)
        for number, (settings, verdict) in enumerate(
            zip(trials, verdicts(image, trials), strict=True)
        )
        if not verdict.is_good
    ]
    assert differ == []


DONE_ANYWAY = {"enable_hetjob_steps"}
"""In slurm.conf(5), and Slurm's default."""


SILENT: list[dict[str, str]] = [
    {"SlurmdParameters": "numa_as_socket"},
    {"MpiParams": "port=12000-12999"},
    {"MpiParams": "ports=12999"},
    {"JobAcctGatherFrequency": "tasks=30"},
    {"SrunPortRange": "63000-60001"},
    {"SrunPortRange": "many"},
]
SAID: list[dict[str, str]] = [
    {"SlurmdParameters": "config_overrides,l3cache_as_socket"},
    {"MpiParams": "ports=12000-12999,disable_slurm_hydra_bootstrap=slurm"},
    {"JobAcctGatherFrequency": "task=30,energy=60"},
    {"SrunPortRange": "60001-63000"},
    {"MpiDefault": "openmpi"},
]


def test_what_slurmctld_ignores_without_a_word_is_found(image: Path) -> None:
    assert all(each.is_good for each in verdicts(image, [*SILENT, *SAID]))
    assert all(map(finds_errors, SILENT))
    assert not any(map(finds_errors, SAID))


def test_words_inside_parameters_are_in_slurms_programs(image: Path, slurm: str) -> None:
    """slurmctld does not report unknown options: its programs have to know them."""
    folders = [image / "usr/sbin", *image.glob("usr/lib/*/slurm-wlm"), image / "usr/bin"]
    names = ("slurm", "s", "lib", "sched", "job_", "prio", "preempt")
    files = [
        file
        for folder in folders
        for file in folder.iterdir()
        if file.is_file() and ("slurm-wlm" in str(folder) or file.name.startswith(names))
    ]
    content = b"".join(file.read_bytes() for file in files).lower()
    wrong = [
        word
        for parameter in slurm_parameters().values()
        if parameter.owner == "user" and parameter.kind == "options"
        for word in parameter.option_names
        if word.lower() not in {*DONE_ANYWAY, *not_yet(parameter, slurm)}
        and (word.lower().encode() in content) is not is_known(word, parameter, slurm)
    ]
    assert wrong == []


NODE_LINE, PARTITION_LINE = NODES.splitlines(keepends=True)


@pytest.mark.parametrize("lines", ["", NODE_LINE, PARTITION_LINE], ids=["no", "node", "partition"])
def test_slurmctld_starts_before_all_nodes_and_partitions_are_listed(
    image: Path, lines: str
) -> None:
    """The scripts start it with the parts that HyperPod has written so far."""
    assert _verdict(image, {}, lines).runs
