"""The last jobs of a cluster, from Slurm's records."""

from __future__ import annotations

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.operations.questions import question
from slurmpod.slurm.records import FIELDS, JobRecord, read_records, sacct

RECORDS = "records"
DAYS, MOST_JOBS = 30, 25
SECONDS = 20


def records_question() -> str:
    """Return the script lines for root on a controller that print the last jobs."""
    asked = sacct(FIELDS, "--allusers", "--allocations", f"--starttime=now-{DAYS}days")
    timed = f"SLURM_TIME_FORMAT=%s timeout {SECONDS} {asked}"
    return "PATH=/opt/slurm/bin:$PATH\n" + question(RECORDS, f"{timed} 2>&1 | tail -n {MOST_JOBS}")


def last_jobs(answer: str) -> tuple[JobRecord, ...]:
    """Read the output of `records_question`, newest job first.

    Raises:
        AwsUnavailable: Slurm keeps no records, or does not answer.
    """
    try:
        return read_records(answer)[::-1]
    except ValueError as error:
        raise AwsUnavailable(f"Slurm's records cannot be read: {error}") from None
