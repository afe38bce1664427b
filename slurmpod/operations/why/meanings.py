"""The meaning of log lines of Slurm, the kernel, HyperPod and slurmpod, and the fixes. Pure.

Sources: slurm.conf(5), scontrol(1) and squeue(1) of Slurm 24.11 (lines of logs, states of jobs);
SageMaker HyperPod developer guide, "Automatic node recovery" and "Health Monitoring System";
NVIDIA's "XID Errors"; slurmpod_health and slurmpod_lifecycle of this project.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Meaning:
    """The meaning of a matching line, the fix, and how near it is to the root of a fault.

    `NODE`, `JOB` and `ENV` in `fix` are placeholders for the subject. Words in braces are groups of
    the pattern. The weight orders causes: hardware before its consequences.
    """

    pattern: str
    says: str
    fix: str
    weight: int

    def of(self, text: str) -> Meaning | None:
        """Return the meaning with the groups of a line filled in; None if it does not match."""
        found = re.search(self.pattern, text)
        if not found:
            return None
        groups = {name: value or "" for name, value in found.groupdict().items()}
        return Meaning(
            self.pattern, self.says.format_map(groups), self.fix.format_map(groups), self.weight
        )


ROOT = 55
"""From this weight on a meaning explains Slurm's own view of a node."""

HARDWARE = 90
"""From this weight on it is a fault that remains when the node is resumed."""

BACK = re.compile(r"state set to (?:RESUME|IDLE)|returned to service|slurmd version \S+ started")
"""What slurmctld logs when a node takes jobs again."""

RESUME = "when it is in order: slurmpod node resume ENV NODE"
REPLACE = "let HyperPod replace it: slurmpod node replace ENV NODE"
WAIT = "wait for HyperPod, and watch it: slurmpod status ENV --watch"

MEANINGS = (
    Meaning(
        r"Unable to contact slurm controller",
        "slurmctld does not answer, so the state of nodes and jobs is unknown",
        "see why: slurmpod logs ENV --kind slurm --kind system",
        100,
    ),
    Meaning(
        r"(?i)XidHardwareFailure|NVRM: Xid .*: (?P<xid>48|62|63|64|74|79|94|95|119|120|140)\b",
        "a GPU has failed (Xid {xid})",
        REPLACE,
        95,
    ),
    Meaning(r"(?i)NVRM: Xid .*: (?P<xid>\d+)", "a GPU reports Xid {xid}", "look Xid {xid} up", 55),
    Meaning(
        r"XidUserAppError",
        "a program made a GPU report an error; the GPU itself is sound",
        "look at the job that ran at that time",
        30,
    ),
    Meaning(
        r'HealthMonitoringAgentDetectionEvent.*"reason":"?\s?"?(?P<why>[^"]*)|"reason": '
        r'"(?P<reason>[^"]*)".*HealthMonitoringAgentDetectionEvent',
        "HyperPod's health agent has found a fault: {why}{reason}",
        WAIT,
        90,
    ),
    Meaning(
        r"^FAILED: (?P<step>\S+): (?P<detail>.*?); fix: (?P<fix>.*)$",
        "the lifecycle scripts failed in step {step}: {detail}",
        "{fix}",
        85,
    ),
    Meaning(
        r"\[SageMaker\] The lifecycle scripts failed",
        "the lifecycle scripts failed, so the node was not taken into service",
        "see what they printed: slurmpod logs ENV --node NODE --kind lifecycle",
        60,
    ),
    Meaning(
        r"(?i)out of memory: killed process|oom-kill:|Detected \d+ oom_kill",
        "memory ran out, and Linux ended a program",
        "ask for more memory or nodes, or use less memory per process",
        80,
    ),
    Meaning(
        r"(?i)LustreError|I/O error|nfs: server .* not responding",
        "a file system or disk did not answer",
        "look at the file systems: slurmpod status ENV",
        75,
    ),
    Meaning(
        r"reason set to: slurmpod: (?P<why>.*)|is out of service: (?P<out>.*)",
        "slurmpod-health took the node out of service: {why}{out}",
        "repair it, then `sudo slurmpod-health --resume` on the node; or " + REPLACE,
        70,
    ),
    Meaning(
        r"(?i)prolog error|epilog error|(?:prolog|epilog) failed",
        "the script that runs before or after each job failed, so Slurm drained the node",
        "see what it printed: slurmpod logs ENV --node NODE --kind slurm; " + RESUME,
        65,
    ),
    Meaning(
        r"(?i)kill task failed",
        "a process of a job could not be ended, mostly because a file system hangs",
        "reboot it: slurmpod node reboot ENV NODE",
        65,
    ),
    Meaning(
        r"(?i)low (?:realmemory|socket\*core\*thread|cpu|tmpdisk)",
        "the node has less than slurm.conf says",
        "compare `slurmd -C` on the node with slurm.conf: slurmpod observe ENV --compare",
        65,
    ),
    Meaning(
        r"(?:slurmd: )?fatal: (?P<why>.*)", "a daemon of Slurm could not go on: {why}", RESUME, 65
    ),
    Meaning(
        r"reason set to: Action:Replace",
        "a replacement of the node was asked for, by HyperPod or by a person",
        WAIT,
        50,
    ),
    Meaning(
        r"reason set to: Action:Reboot",
        "a reboot of the node was asked for, by HyperPod or by a person",
        WAIT,
        50,
    ),
    Meaning(
        r"(?i)unexpectedly rebooted",
        "the node was rebooted, and not by Slurm, which therefore keeps it down",
        RESUME,
        45,
    ),
    Meaning(
        r"(?i)nodes? \S+ not responding",
        "slurmd on the node did not answer: the node is off, hung, or slurmd has ended",
        "see why: slurmpod logs ENV --node NODE; " + REPLACE,
        40,
    ),
    Meaning(
        r"(?i)(?:instance .*|creation.*|replacement.*|reboot.*) failed|failed to complete",
        "HyperPod did not get the node going",
        "see its events, and how many nodes there are: slurmpod status ENV",
        58,
    ),
    Meaning(
        r"reason set to: (?!slurmpod: |Action:)(?P<why>.+)",
        "a user took the node out of service: {why}",
        RESUME,
        42,
    ),
    Meaning(
        r"^deep health check is under way",
        "HyperPod checks its hardware, and keeps jobs away until that has ended: an hour or more",
        "see how far it is: slurmpod node check ENV NODE",
        57,
    ),
    Meaning(
        r"^slurmdbd (?:is not running|cannot reach)",
        "Slurm's accounting does not work, so that job records may be missing",
        "see why: slurmpod logs ENV --kind slurm --kind system",
        20,
    ),
    Meaning(r"state set to RESUME|state set to IDLE", "a user resumed the node", "", 0),
    Meaning(r"now responding|returned to service", "slurmd answers again", "", 0),
)
"""In the order in which they are tried: the first match counts."""


def meaning_of(text: str, table: tuple[Meaning, ...] = MEANINGS) -> Meaning | None:
    """Return the meaning of a line; None if it has none."""
    return next(filter(None, (each.of(text) for each in table)), None)
