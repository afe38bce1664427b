"""`slurmpod backup`: save the job records of the controller now, and not when its timer does."""

from __future__ import annotations

import argparse
from pathlib import Path

from slurmpod.cli.connect import has_plugin
from slurmpod.cli.live_cluster import live_cluster
from slurmpod.cli.output import if_interrupted, print_json, say, say_next
from slurmpod.problems import ExitCode
from slurmpod.resolve.database import records_key


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument("--json", action="store_true", help="print where the copy is as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """Save the records, and say where they are; it takes nothing away, and is not asked for."""
    if not has_plugin():
        return ExitCode.FAILED
    cluster = live_cluster(options.file)
    key = records_key(cluster.resolved)
    if key is None:
        say(
            f"{cluster.resolved.name} saves no job records: write 'records_backup: {{}}' under "
            "slurm, deploy, and let the lifecycle scripts of the controller run again"
        )
        return ExitCode.FAILED
    say("the controller saves its job records: usually some seconds, minutes for millions of jobs")
    with if_interrupted("the controller may still save them; the same command saves them again"):
        cluster.slurm().save_records()
    uri = f"s3://{cluster.resolved.lifecycle.bucket}/{key}"
    if options.json:
        print_json({"records": uri})
    else:
        say(f"the job records are at {uri}; a controller that is made anew begins with them")
        say_next("lifecycle report", options.file)
    return ExitCode.OK
