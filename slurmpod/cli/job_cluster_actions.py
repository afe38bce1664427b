"""The actions of `slurmpod job` that need a cluster: their arguments, without AWS's libraries."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from slurmpod.cli.job_variable_options import add_variable_options
from slurmpod.environment.image import IMAGE_USER

JOB = re.compile(r"[0-9]+(?:_[0-9]+)?", re.ASCII)


def add_arguments(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the actions."""
    submits = actions.add_parser("submit", help="copy a job to the cluster, submit and follow it")
    _add_place(submits)
    submits.add_argument("folder", type=Path, help="what 'job render' made")
    submits.add_argument("--python", metavar="PATH", help="the Python of the job, on the cluster")
    add_variable_options(submits)
    submits.add_argument("--yes", action="store_true", help="replace files that are there")
    how = submits.add_mutually_exclusive_group()
    how.add_argument("--no-follow", action="store_true", help="return once it is submitted")
    how.add_argument("--json", action="store_true", help="the same; print its number as JSON")
    shows = actions.add_parser("status", help="show the jobs of a cluster, or one")
    _add_place(shows)
    shows.add_argument("job", nargs="?", type=_job, help="its number (default: all)")
    shows.add_argument("--json", action="store_true", help="print them as JSON")
    logs = actions.add_parser("logs", help="print what a job wrote")
    _add_place(logs)
    logs.add_argument("job", type=_job, help="its number")
    until = logs.add_mutually_exclusive_group()
    until.add_argument("--follow", action="store_true", help="go on until it ends")
    until.add_argument("--json", action="store_true", help="print its state and log as JSON")
    ends = actions.add_parser("cancel", help="end a job")
    _add_place(ends)
    ends.add_argument("job", type=_job, help="its number")
    ends.add_argument("--json", action="store_true", help="print which job as JSON")
    for action in (submits, shows, logs, ends):
        action.set_defaults(work="job_on_cluster")
    stages = actions.add_parser("stage", help="copy data to shared storage, or remove it again")
    _add_stage_arguments(stages)
    stages.set_defaults(work="job_stage")


def _add_stage_arguments(stages: argparse.ArgumentParser) -> None:
    _add_place(stages)
    stages.add_argument(
        "places",
        nargs="+",
        metavar="PLACE",
        help="from where, s3://BUCKET/PREFIX/ or an index; and the folder on the cluster",
    )
    stages.add_argument("--evict", action="store_true", help="remove what was staged in a folder")
    stages.add_argument("--nodes", type=int, metavar="N", help="how many copy at the most")
    where = stages.add_mutually_exclusive_group()
    where.add_argument("--group", help="run on this worker group")
    where.add_argument("--partition", help="run on this partition (default: the only one)")
    stages.add_argument("--folder", metavar="PATH", help="where the job's own files lie")
    stages.add_argument("--out", type=Path, metavar="FOLDER", help="write the job, submit nothing")
    stages.add_argument("--yes", action="store_true", help="remove without asking")
    how = stages.add_mutually_exclusive_group()
    how.add_argument("--no-follow", action="store_true", help="return once it is submitted")
    how.add_argument("--json", action="store_true", help="the same; print its number as JSON")


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="ENV", help="e.g. environments/dev.yaml")
    parser.add_argument(
        "--user", default=IMAGE_USER, help=f"on the cluster (default: {IMAGE_USER})"
    )


def _job(text: str) -> str:
    if not JOB.fullmatch(text):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of a job, such as 12 or 12_3")
    return text
