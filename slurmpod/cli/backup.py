"""`slurmpod backup`: save the controller's job records now, without waiting for its timer."""

from __future__ import annotations

import argparse
from pathlib import Path

from slurmpod.cli.connect import has_plugin
from slurmpod.cli.live_cluster import live_cluster
from slurmpod.cli.output import if_interrupted, print_json, say, say_next
from slurmpod.problems import ExitCode
from slurmpod.resolve.database import records_key


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument("--json", action="store_true", help="print the copy's location as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """Save the records and print their location; it changes nothing else, so it does not ask."""
    if not has_plugin():
        return ExitCode.FAILED
    cluster = live_cluster(options.file)
    key = records_key(cluster.resolved)
    if key is None:
        say(
            f"{cluster.resolved.name} does not save job records: add 'records_backup: {{}}' under "
            "slurm, deploy, and run the controller's lifecycle scripts again"
        )
        return ExitCode.FAILED
    say("saving job records on the controller: usually seconds, minutes for millions of jobs")
    with if_interrupted("the controller may still be saving; run the same command again"):
        cluster.slurm().save_records()
    uri = f"s3://{cluster.resolved.lifecycle.bucket}/{key}"
    if options.json:
        print_json({"records": uri})
    else:
        say(f"the job records are at {uri}; a new controller starts with them")
        say_next("lifecycle report", options.file)
    return ExitCode.OK
