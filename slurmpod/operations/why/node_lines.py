"""A controller's and a node's own data on one node or job: the commands, and their parsers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone

from slurmpod.operations.questions import as_root, question
from slurmpod.operations.why.own_facts import OWN, own_command
from slurmpod.operations.why.story import Moment
from slurmpod.slurm.records import rows, sacct

STATE, CONTROLLER_LOG, RECORDS, JOBS, ZONE = "state", "slurmctld", "records", "jobs", "zone"
CONFIG, SHAPES, QOS, PARTITIONS, QUEUE = "config", "shapes", "qos", "partitions", "queue"
NODE_LOG, HEALTH, KERNEL = "slurmd", "slurmpod-health", "kernel"
MOST_LINES, MOST_JOBS = 60, 2000
SECONDS = 20

CTLD_LOG = "/var/log/slurm/slurmctld.log"
SLURMD_LOG = "/var/log/slurm/slurmd.log"
TELLING = (
    "error|fatal|slurmd version|not responding|Kill task|drain|prolog|epilog|oom|Killed|terminat"
)
"""Words of slurmd's log lines beyond the start and end of jobs."""

FAULTS = "Xid|Out of memory|oom-kill|LustreError|I/O error|not responding|EFA|hung_task"
"""Words of the kernel's log lines about faults."""

JOB_FIELDS = ("start", "end", "jobid", "state", "exitcode", "user")
RECORD_FIELDS = ("jobid", "state", "exitcode", "start", "end", "nodelist", "user", "submit",
                 "reason", "timelimit", "reqtres", "partition", "qos", "account")  # fmt: skip
RUNS = ("--duplicates", "--allocations")
"""Options of sacct: every run of a requeued job, without its steps."""

START_SECONDS = 30
"""A job that is requeued within this time was not started at all."""

_SHORT = r"""awk '!/^NodeName=/ { print }
/^NodeName=/ {
  kept = ""
  for (i = 1; i <= NF; i++) if ($i ~ /^(NodeName|Gres|State|SlurmdStartTime)=/) kept = kept $i " "
  if (at = index($0, " Reason=")) kept = kept substr($0, at + 1)
  print kept
}'"""
"""Keeps only the state of each node: all fields of thousands of nodes are megabytes."""

_PATH = "PATH=/opt/slurm/bin:$PATH\n"


def controller_on_node(name: str, hours: int) -> str:
    """Return the controller's command that prints the state of a node."""
    node = shlex.quote(name)
    events = f"sacctmgr -nP list event where node={node} start=now-{hours}hours"
    which = (*RUNS, f"--nodelist={node}", f"--starttime=now-{hours}hours")
    return as_root(
        _PATH
        + question(ZONE, "date +%z")
        + question(STATE, f"timeout {SECONDS} scontrol --oneliner show node {node} 2>&1")
        + question(
            CONFIG, f"timeout {SECONDS} scontrol show config | grep -E '^Slurmd(Time|Spool)'"
        )
        + question(CONTROLLER_LOG, f"grep -wF -- {node} {CTLD_LOG} | tail -n {MOST_LINES}")
        + question(RECORDS, f"timeout {SECONDS} {events} format=start,state,reason,user 2>&1")
        + question(JOBS, f"timeout {SECONDS} {sacct(JOB_FIELDS, *which)} 2>&1")
    )


def controller_on_job(job: str, hours: int) -> str:
    """Return the controller's command that prints the state of a job, and its limits."""
    which = ("--duplicates", f"--jobs={job}", f"--starttime=now-{hours}hours")
    sinfo = "sinfo --exact --noheader --format='%P|%D|%c|%m|%G|%T'"
    return as_root(
        _PATH
        + question(ZONE, "date +%z")
        + question(STATE, f"timeout {SECONDS} scontrol --oneliner show job {job} 2>&1")
        + question(
            CONTROLLER_LOG,
            f"grep -E -- 'JobId={_array_of(job)}([^0-9]|$)' {CTLD_LOG} | tail -n {MOST_LINES}",
        )
        + question(RECORDS, f"timeout {SECONDS} {sacct(RECORD_FIELDS, *which)} 2>&1")
        + question(SHAPES, f"timeout {SECONDS} {sinfo} 2>&1")
        + question(PARTITIONS, f"timeout {SECONDS} scontrol --oneliner show partition 2>&1")
        + question(QOS, f"timeout {SECONDS} sacctmgr -nP show qos format=name,maxwall 2>&1")
    )


def controller_on_all(hours: int) -> str:
    """Return the controller's command that prints all nodes, and jobs in trouble."""
    fields, since = (*JOB_FIELDS, "nodelist"), f"--starttime=now-{hours}hours"
    asked = sacct(fields, *RUNS, "--allusers", since)
    squeue = "squeue --all --noheader --states=PENDING --format='%i|%r'"
    return as_root(
        _PATH
        + question(ZONE, "date +%z")
        + question(STATE, f"timeout {SECONDS} scontrol --oneliner show node 2>&1 | {_SHORT}")
        + question(CONFIG, f"timeout {SECONDS} scontrol show config | grep '^Slurmd'")
        + question(JOBS, f"timeout {SECONDS} {asked} 2>&1 | tail -n {MOST_JOBS}")
        + question(QUEUE, f"timeout {SECONDS} {squeue} 2>&1 | head -n {MOST_JOBS}")
    )


def node_itself(hours: int, word: str = "", folders: Iterable[str] = (), spool: str = "") -> str:
    """Return a node's own command that prints its state, or that of a job by `word`.

    `folders` are the shared ones that it should have mounted, `spool` is slurmd's.
    """
    since = f"--since '-{hours}h' --no-pager --output short-iso"
    which = f"grep -E -- {shlex.quote(word or TELLING)} {SLURMD_LOG}"
    return as_root(
        question(ZONE, "date +%z")
        + question(NODE_LOG, f"{which} | tail -n {MOST_LINES}")
        + question(HEALTH, f"journalctl -t slurmpod-health {since} 2>/dev/null | tail -n 20")
        + question(KERNEL, f"journalctl -k {since} 2>/dev/null | grep -E '{FAULTS}' | tail -n 20")
        + ("" if word else question(OWN, own_command(folders, spool)))
    )


def zone_of(answers: Mapping[str, str]) -> timezone:
    """Return the time zone of a node's clock."""
    found = re.fullmatch(r"([+-])(\d\d)(\d\d)", answers.get(ZONE, "").strip())
    if not found:
        return UTC
    sign, hours, minutes = found.groups()
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(-offset if sign == "-" else offset)


_SLURM_LINE = re.compile(r"\[(?P<time>[^]]+)\] (?P<text>.*)")
_JOURNAL_LINE = re.compile(r"(?P<time>\d{4}-\S+) \S+ [^:]+: (?P<text>.*)")


def moments_of_logs(answers: Mapping[str, str]) -> Iterator[Moment]:
    """Return the lines of logs with their times."""
    zone = zone_of(answers)
    for source in (CONTROLLER_LOG, NODE_LOG):
        for line in answers.get(source, "").splitlines():
            found = _SLURM_LINE.match(line)
            if found and (time := moment_of(found["time"], zone)):
                yield Moment(time, source, found["text"])
    for source in (HEALTH, KERNEL):
        for line in answers.get(source, "").splitlines():
            found = _JOURNAL_LINE.match(line)
            if found and (time := moment_of(found["time"], zone)):
                yield Moment(time, source, found["text"])


def moments_of_node_records(answers: Mapping[str, str]) -> Iterator[Moment]:
    """Return Slurm's records: when a node was out of service, and jobs that failed on it."""
    zone = zone_of(answers)
    for line in answers.get(RECORDS, "").splitlines():
        fields = line.split("|")
        if len(fields) == 4 and (time := moment_of(fields[0], zone)):
            _, state, reason, user = fields
            yield Moment(time, "records", f"{state}: {reason}, set by {user.partition('(')[0]}")
    for row in job_rows(answers):
        if (time := moment_of(row["end"], zone)) and row["state"] not in ("COMPLETED", "RUNNING"):
            job, state, code, user = (row[key] for key in JOB_FIELDS[2:])
            yield Moment(time, "records", f"job {job} of {user} ended: {state}, {code}")


def starts_on_node(answers: Mapping[str, str]) -> tuple[tuple[datetime, bool], ...]:
    """Return when each job on it ended, oldest first, and whether it could be started."""
    zone, found = zone_of(answers), []
    for row in job_rows(answers):
        begin, end = (moment_of(row[key], zone) for key in ("start", "end"))
        if begin and end:
            is_short = (end - begin).total_seconds() <= START_SECONDS
            found.append((end, not (row["state"] == "REQUEUED" and is_short)))
    return tuple(sorted(found))


def job_rows(answers: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    """Return the records of jobs, which may end with their nodes."""
    return rows(answers.get(JOBS, ""), (*JOB_FIELDS, "nodelist"), fewest=len(JOB_FIELDS))


def moment_of(text: str, zone: timezone) -> datetime | None:
    """Parse a time in ISO 8601; None for words such as `Unknown`."""
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=zone)


def setting(answers: Mapping[str, str], name: str) -> str:
    """Return a setting of slurm.conf from the output of `scontrol show config`."""
    found = re.search(rf"^{name}\s*=\s*(\S.*?)\s*$", answers.get(CONFIG, ""), re.M)
    return found[1] if found else ""


def _array_of(job: str) -> str:
    """Return slurmctld's name of an array task: `7_3`; a job's own number otherwise."""
    return job.partition(".")[0]
