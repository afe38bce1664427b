"""Arguments of the actions of `slurmpod job` that need a cluster, without importing the AWS SDK."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from slurmpod.cli.job_variable_options import add_variable_options
from slurmpod.environment.image import IMAGE_USER

JOB = re.compile(r"[0-9]+(?:_[0-9]+)?", re.ASCII)


def add_arguments(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the actions."""
    submits = actions.add_parser(
        "submit", help="copy a job to the cluster, submit it and follow it"
    )
    _add_place(submits)
    submits.add_argument("folder", type=Path, help="a folder from 'job render'")
    submits.add_argument("--python", metavar="PATH", help="the Python of the job, on the cluster")
    add_variable_options(submits)
    submits.add_argument("--yes", action="store_true", help="replace existing files")
    how = submits.add_mutually_exclusive_group()
    how.add_argument("--no-follow", action="store_true", help="return once it is submitted")
    how.add_argument(
        "--json", action="store_true", help="do not follow; print the job's number as JSON"
    )
    shows = actions.add_parser("status", help="show all jobs or one")
    _add_place(shows)
    shows.add_argument("job", nargs="?", type=_job, help="its number (default: all)")
    shows.add_argument("--json", action="store_true", help="print them as JSON")
    logs = actions.add_parser("logs", help="print the log of a job")
    _add_place(logs)
    logs.add_argument("job", type=_job, help="its number")
    until = logs.add_mutually_exclusive_group()
    until.add_argument("--follow", action="store_true", help="follow until the job ends")
    until.add_argument("--json", action="store_true", help="print its state and log as JSON")
    ends = actions.add_parser("cancel", help="cancel a job")
    _add_place(ends)
    ends.add_argument("job", type=_job, help="its number")
    ends.add_argument("--json", action="store_true", help="print the job's number as JSON")
    for action in (submits, shows, logs, ends):
        action.set_defaults(work="job_on_cluster")
    stages = actions.add_parser("stage", help="copy data to shared storage, or remove it")
    _add_stage_arguments(stages)
    stages.set_defaults(work="job_stage")


def _add_stage_arguments(stages: argparse.ArgumentParser) -> None:
    _add_place(stages)
    stages.add_argument(
        "places",
        nargs="+",
        metavar="PLACE",
        help="source (s3://BUCKET/PREFIX/ or an index), and folder on the cluster",
    )
    stages.add_argument("--evict", action="store_true", help="remove staged files from a folder")
    stages.add_argument("--nodes", type=int, metavar="N", help="most nodes to copy with")
    where = stages.add_mutually_exclusive_group()
    where.add_argument("--group", help="run on this worker group")
    where.add_argument("--partition", help="run on this partition (default: the only one)")
    stages.add_argument("--folder", metavar="PATH", help="folder of the job's own files")
    stages.add_argument("--out", type=Path, metavar="FOLDER", help="write the job, submit nothing")
    stages.add_argument("--yes", action="store_true", help="do not ask before removing")
    how = stages.add_mutually_exclusive_group()
    how.add_argument("--no-follow", action="store_true", help="return once it is submitted")
    how.add_argument(
        "--json", action="store_true", help="do not follow; print the job's number as JSON"
    )


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="ENV", help="e.g. environments/dev.yaml")
    parser.add_argument(
        "--user", default=IMAGE_USER, help=f"on the cluster (default: {IMAGE_USER})"
    )


def _job(text: str) -> str:
    if not JOB.fullmatch(text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a job number such as 12 or 12_3")
    return text
