"""Parameters of slurm.conf that require or exclude each other.

slurmctld 24.11.5 refuses or ignores each of these: a rehearsal's test starts it with every row.
Further constraints from slurm.conf(5) are other rules.
"""

from __future__ import annotations

from collections.abc import Mapping

from slurmpod.value import Value

BASES_OF_CONSUMPTION = (
    "CR_CPU",
    "CR_CPU_Memory",
    "CR_Core",
    "CR_Core_Memory",
    "CR_Socket",
    "CR_Socket_Memory",
)
PREEMPTING_TYPES = ("preempt/partition_prio", "preempt/qos")
PREEMPTING_MODES = ("CANCEL", "REQUEUE", "SUSPEND")
PREEMPTION = frozenset({"PreemptType", "PreemptMode"})

OF_HYPERPOD: Mapping[str, str] = {
    "ProctrackType": "proctrack/linuxproc",
    "SelectType": "select/cons_tres",
    "SelectTypeParameters": "CR_Core",
    "TaskPlugin": "task/none",
}
"""Values that HyperPod's slurm.conf has, or may have, by default."""


class Combination(Value):
    """The constraint of one word of a parameter on another parameter, or on its other words.

    Any value counts if `words` is empty. The other parameter needs one of the words `required`
    (`any value` where that is empty and `forbidden` is too), and none of `forbidden`.
    """

    parameter: str
    words: tuple[str, ...]
    other: str
    fix: str
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()

    def is_broken_by(self, values: Mapping[str, str]) -> bool:
        """Return whether slurmctld refuses these values, by the names of their parameters."""
        given = _words(values.get(self.parameter, ""))
        triggers = given & _lower(self.words) if self.words else given
        if not triggers:
            return False
        others = _words(values.get(self.other, ""))
        if self.other == self.parameter:
            others -= {min(triggers)}
        if self.forbidden:
            return bool(others & _lower(self.forbidden))
        return not (others & _lower(self.required) if self.required else others)

    def message(self, values: Mapping[str, str]) -> str:
        """Return what is wrong with the values, in one sentence."""
        word = next(
            (each for each in self.words if each.lower() in _words(values[self.parameter])), ""
        )
        what = f"{self.parameter}={word or values[self.parameter]}"
        if not self.forbidden:
            wanted = " or ".join(self.required)
            return f"{what} needs {self.other}{'=' if wanted else ''}{wanted}"
        value = values[self.other]
        return f"{what} does not go with {self.other}={value}"


def _words(value: str) -> set[str]:
    return {word.strip().lower() for word in value.split(",") if word.strip()}


def _lower(words: tuple[str, ...]) -> set[str]:
    return {word.lower() for word in words}


COMBINATIONS = (
    Combination(
        "PreemptType",
        PREEMPTING_TYPES,
        "PreemptMode",
        "add 'PreemptMode: REQUEUE', or CANCEL",
        required=PREEMPTING_MODES,
    ),
    Combination(
        "PreemptMode",
        (*PREEMPTING_MODES, "WITHIN"),
        "PreemptType",
        "add 'PreemptType: preempt/qos', or preempt/partition_prio",
        required=PREEMPTING_TYPES,
    ),
    Combination(
        "PreemptMode", ("SUSPEND",), "PreemptMode", "write SUSPEND,GANG", required=("GANG",)
    ),
    Combination(
        "PreemptMode",
        ("OFF", *PREEMPTING_MODES),
        "PreemptMode",
        "keep one of OFF, CANCEL, REQUEUE and SUSPEND,GANG",
        forbidden=("OFF", *PREEMPTING_MODES),
    ),
    Combination(
        "PreemptMode",
        ("WITHIN",),
        "PreemptMode",
        "write CANCEL,WITHIN or REQUEUE,WITHIN",
        required=("CANCEL", "REQUEUE"),
    ),
    Combination(
        "SelectType",
        ("select/cons_tres",),
        "SelectTypeParameters",
        "add CR_Core or CR_Core_Memory to SelectTypeParameters",
        required=BASES_OF_CONSUMPTION,
    ),
    Combination(
        "SelectType",
        ("select/linear",),
        "SelectTypeParameters",
        "add 'SelectTypeParameters: CR_Memory', or remove 'SelectType'",
        forbidden=BASES_OF_CONSUMPTION,
    ),
    Combination(
        "SelectTypeParameters",
        (*BASES_OF_CONSUMPTION, "CR_Memory"),
        "SelectTypeParameters",
        "keep one of CR_CPU, CR_Core and CR_Socket, with _Memory or without",
        forbidden=(*BASES_OF_CONSUMPTION, "CR_Memory"),
    ),
    Combination(
        "SelectTypeParameters",
        ("CR_ONE_TASK_PER_CORE",),
        "SelectTypeParameters",
        "write CR_Core or CR_Core_Memory beside it",
        forbidden=("CR_CPU", "CR_CPU_Memory"),
    ),
    Combination(
        "MCSPlugin", ("mcs/group",), "MCSParameters", "add 'MCSParameters', which names the groups"
    ),
    Combination(
        "MCSParameters",
        (),
        "MCSPlugin",
        "add 'MCSPlugin', or remove 'MCSParameters'",
        required=("mcs/account", "mcs/group", "mcs/label", "mcs/user"),
    ),
    Combination(
        "SlurmSchedLogLevel",
        ("1",),
        "SlurmSchedLogFile",
        "add 'SlurmSchedLogFile: /var/log/slurm/sched.log'",
    ),
    Combination(
        "PrologFlags",
        ("X11",),
        "ProctrackType",
        "add 'ProctrackType: proctrack/cgroup', or remove X11",
        required=("proctrack/cgroup", "proctrack/pgid"),
    ),
    Combination(
        "PrologFlags",
        ("Serial",),
        "PrologFlags",
        "keep one of Serial and RunInJob",
        forbidden=("RunInJob",),
    ),
    Combination(
        "LaunchParameters",
        ("enable_nss_slurm",),
        "LaunchParameters",
        "keep one of enable_nss_slurm and disable_send_gids",
        forbidden=("disable_send_gids",),
    ),
    Combination(
        "CommunicationParameters",
        ("DisableIPv4",),
        "CommunicationParameters",
        "remove DisableIPv4: the nodes have IPv4 addresses",
        required=("EnableIPv6",),
    ),
    Combination(
        "TaskPluginParam",
        ("OOMKillStep",),
        "TaskPlugin",
        "remove OOMKillStep: HyperPod sets task/none",
        required=("task/cgroup",),
    ),
    Combination(
        "JobAcctGatherParams",
        ("NoShared",),
        "JobAcctGatherParams",
        "keep one of NoShared and UsePss",
        forbidden=("UsePss",),
    ),
    Combination(
        "CertmgrType",
        ("certmgr/script",),
        "CertmgrParameters",
        "add 'CertmgrParameters' with sign_csr_script=, the path of the script",
    ),
    Combination(
        "JobCompType",
        ("jobcomp/script",),
        "JobCompLoc",
        "add 'JobCompLoc' with the path of the script",
    ),
)

FILES_OF_PLUGINS: Mapping[tuple[str, str], str] = {
    ("JobSubmitPlugins", "lua"): "/opt/slurm/etc/job_submit.lua",
    ("JobCompType", "lua"): "/opt/slurm/etc/jobcomp.lua",
    ("NodeFeaturesPlugins", "helpers"): "/opt/slurm/etc/helpers.conf",
}
"""Files without which slurmctld does not start, by parameter and plugin."""

SCRIPT_OF_CLI_FILTER = "/opt/slurm/etc/cli_filter.lua"
"""The file without which sbatch, srun and salloc do not start where CliFilterPlugins has lua."""
