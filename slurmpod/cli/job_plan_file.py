"""The parameter file of a plan, and the command that renders it."""

from __future__ import annotations

import argparse
import shlex

import yaml

from slurmpod.cli.output import say
from slurmpod.jobs.planning.plan import Plan
from slurmpod.jobs.recipes.planned import NotCarriedOut, parameters_of
from slurmpod.problems import WorkFailed
from slurmpod.whole_file import write_whole


def write_parameters(options: argparse.Namespace, plan: Plan) -> None:
    """Write the parameters, and print the command that renders them; raises WorkFailed."""
    try:
        found = parameters_of(plan)
        write_whole(options.write, yaml.safe_dump(dict(found), sort_keys=False))
    except NotCarriedOut as why:
        raise WorkFailed(str(why)) from why
    except OSError as error:
        raise WorkFailed(f"{options.write} cannot be written: {error.strerror}") from error
    allocation = plan.allocation
    words = ("job", "render", options.file, "pretrain", "--partition", allocation.partition)
    more = ("--nodes", allocation.nodes, "--parameters", options.write, "--out", "pretrain")
    say(f"next: slurmpod {shlex.join(map(str, (*words, *more)))}")
