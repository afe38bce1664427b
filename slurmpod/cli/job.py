"""`slurmpod job`: check, render, plan, submit and follow jobs for a HyperPod cluster.

This module has the arguments. Each action is in its own module, imported only when chosen.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from slurmpod.cli import job_cluster_actions
from slurmpod.cli.job_metrics_work import add_work_arguments
from slurmpod.cli.job_variable_options import add_variable_options
from slurmpod.cli.job_watch_options import add_watch_options
from slurmpod.jobs.planning.compute import UTILIZATION
from slurmpod.jobs.venv.pins import INDEX
from slurmpod.problems import ExitCode

PLAN_HELP = {
    "model": "its name, or its number of parameters, e.g. llama2-7b or 13B",
    "sequence": "tokens per sequence",
    "global-batch": "sequences per optimizer step, over all nodes",
    "tokens": "length of the training, e.g. 2T (default: 20 per parameter)",
    "steps": "length of the training in optimizer steps",
    "nodes": "number of nodes (default: all)",
    "learning-rate": "a proven learning rate, to be scaled",
    "at-batch": "the global batch of that learning rate",
    "utilization": f"achieved share of peak FLOPS (default: {UTILIZATION})",
    "node-mtbf-hours": "hours between failures of a node (default: two published runs)",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    checks = actions.add_parser("lint", help="check batch scripts")
    checks.add_argument("scripts", type=Path, nargs="+", metavar="FILE", help="batch scripts")
    checks.add_argument("--env", type=Path, metavar="ENV", help="check them against this cluster")
    checks.add_argument(
        "--slurm",
        default="",
        choices=("24.11", "25.11", "26.05"),
        help="the Slurm version to check for (default: accept what any version does)",
    )
    checks.add_argument("--json", action="store_true", help="print the problems as JSON")
    checks.set_defaults(work="job_lint")
    renders = actions.add_parser("render", help="render a recipe as a resumable job")
    _add_render_arguments(renders)
    renders.set_defaults(work="job_render")
    adopts = actions.add_parser("adopt", help="turn your own repository into a job")
    _add_adopt_arguments(adopts)
    adopts.set_defaults(work="job_adopt")
    lists = actions.add_parser("list", help="list the recipes and their requirements")
    lists.add_argument("--json", action="store_true", help="print them as JSON")
    lists.set_defaults(work="job_list")
    venvs = actions.add_parser("venv", help="render a job that installs pinned packages")
    _add_venv_arguments(venvs)
    venvs.set_defaults(work="job_venv")
    images = actions.add_parser("image", help="render a job that imports a container image")
    images.add_argument("file", type=Path, metavar="ENV", help="e.g. environments/dev.yaml")
    images.add_argument("source", metavar="IMAGE", help="e.g. nvcr.io/nvidia/pytorch:25.06-py3")
    images.add_argument("--name", help="name of the job and its folder (default: the image's)")
    _add_place_arguments(images)
    images.set_defaults(work="job_image")
    metrics = actions.add_parser("metrics", help="show loss, throughput and restarts from a log")
    _add_metrics_arguments(metrics)
    metrics.set_defaults(work="job_metrics")
    plans = actions.add_parser("plan", help="estimate memory, time and cost of a training")
    _add_plan_arguments(plans)
    plans.set_defaults(work="job_plan")
    job_cluster_actions.add_arguments(actions)


def run(options: argparse.Namespace) -> ExitCode:
    """Run the chosen action."""
    code: ExitCode = import_module(f"slurmpod.cli.{options.work}").run(options)
    return code


def _add_render_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="ENV", help="e.g. environments/dev.yaml")
    parser.add_argument("recipe", metavar="RECIPE", help="name of a recipe, as in 'job list'")
    parser.add_argument("--nodes", type=int, metavar="N", help="number of nodes (default: all)")
    parser.add_argument(
        "--parameters", type=Path, metavar="FILE", help="the recipe's parameters, as YAML"
    )
    parser.add_argument(
        "--container-image", metavar="IMAGE", help="run in a container: a .sqsh file, or a name"
    )
    parser.add_argument("--name", help="name of the job (default: the recipe's)")
    add_variable_options(parser)
    add_watch_options(parser)
    _add_place_arguments(parser)


def _add_adopt_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="ENV", help="e.g. environments/dev.yaml")
    parser.add_argument(
        "folder_of_repository", type=Path, metavar="REPOSITORY", help="it is not changed"
    )
    parser.add_argument(
        "--script", metavar="FILE", help="its launch script (default: the only batch script)"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="value of a variable of that script, or of $1; may be repeated",
    )
    parser.add_argument(
        "--nodes", type=int, metavar="N", help="number of nodes (default: the script's)"
    )
    parser.add_argument(
        "--container-image", metavar="IMAGE", help="run in a container: a .sqsh file, or a name"
    )
    parser.add_argument("--name", help="name of the job (default: the script's)")
    add_variable_options(parser)
    add_watch_options(parser)
    _add_place_arguments(parser)


def _add_venv_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="ENV", help="e.g. environments/dev.yaml")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--requirements", type=Path, metavar="FILE", help="pins with hashes (default: PyTorch 2.13)"
    )
    what.add_argument(
        "--wheels", type=Path, metavar="FOLDER", help="wheels, which nodes fetch from the bucket"
    )
    what.add_argument(
        "--from",
        dest="repository",
        type=Path,
        metavar="REPOSITORY",
        help="install from its uv.lock, pyproject.toml or requirements.txt; uv pins it",
    )
    parser.add_argument(
        "--python-version",
        metavar="VERSION",
        default="3.10",
        help="Python version of the nodes, for --from (default: 3.10)",
    )
    parser.add_argument("--index", help=f"address of the index (default: {INDEX})")
    parser.add_argument("--mirror", action="store_true", help="copy the wheels into the bucket")
    parser.add_argument("--at", metavar="PATH", help="path of the environment on the cluster")
    parser.add_argument("--name", default="make-venv", help="name of the job (default: make-venv)")
    _add_place_arguments(parser)


def _add_metrics_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "logs",
        type=Path,
        nargs="+",
        metavar="LOG",
        help="logs in chronological order; - is standard input",
    )
    parser.add_argument("--json", action="store_true", help="print them as JSON, with each step")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write a picture")
    parser.add_argument(
        "--prometheus", type=Path, metavar="FILE", help="write Prometheus text format"
    )
    add_work_arguments(parser)


def _add_plan_arguments(parser: argparse.ArgumentParser) -> None:
    """Numbers are parsed later, so that all mistakes are reported at once."""
    parser.add_argument("file", type=Path, metavar="ENV", help="e.g. environments/dev.yaml")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--group", help="run on this worker group")
    where.add_argument("--partition", help="run on this partition (default: the only one)")
    for name, text in PLAN_HELP.items():
        parser.add_argument(f"--{name}", metavar="MODEL" if name == "model" else "N", help=text)
    parser.add_argument("--json", action="store_true", help="print the plan as JSON")
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="write it as parameters of the recipe pretrain"
    )


def _add_place_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare where a job runs and where its files go."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--group", help="run on this worker group")
    where.add_argument("--partition", help="run on this partition (default: the only one)")
    parser.add_argument("--folder", metavar="PATH", help="its folder on the cluster")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write the files into FOLDER")
    parser.add_argument("--json", action="store_true", help="print the list of files as JSON")
