"""`slurmpod destroy`: the stacks of an environment, the last first; what stays, and its cost."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import sys
from pathlib import Path

from slurmpod.aws.account import AwsAccount
from slurmpod.aws.clients import clients_of
from slurmpod.aws.inventory import AccountInventory
from slurmpod.cli.confirmation import is_named
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import print_json, say, say_next
from slurmpod.cli.plan_text import what_stays
from slurmpod.cli.stacks import stack_named, way_back
from slurmpod.operations.deploy.cdk import CDK_IS_MISSING, cdk_script
from slurmpod.operations.deploy.stack_work import StackWork
from slurmpod.operations.deploy.work_folder import work_folder
from slurmpod.operations.deployed import require_account
from slurmpod.operations.destroy import DestroyPlan, destroy, plan_destroy
from slurmpod.plan.amounts import per_month
from slurmpod.plan.plan import plan_of
from slurmpod.plan.prices import bundled_prices
from slurmpod.problems import ExitCode
from slurmpod.resolve import Resolved
from slurmpod.resolve.database import records_key


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument("--only", metavar="STACK", help="destroy this stack alone, e.g. cluster")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be done")
    parser.add_argument("--yes", action="store_true", help="do it without asking for the name")
    parser.add_argument("--json", action="store_true", help="print what goes and stays as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """Show what goes and what stays, ask for the name, and destroy."""
    wanted = sound_environment(options.file)
    resolved = wanted.resolved
    only = stack_named(resolved, options.only) if options.only else ""
    if only is None:
        return ExitCode.USAGE
    clients = clients_of(resolved.region)
    require_account(AwsAccount(clients), wanted.environment)
    inventory = AccountInventory(clients)
    with work_folder(resolved) as folder:
        work = StackWork.of(options.file, resolved, folder, clients)
        plan = plan_destroy(work.live, inventory, only)
        if not options.json:
            _show(plan, resolved)
        if refusal := _refusal(resolved):
            return refusal
        if options.dry_run or plan.is_nothing:
            return _end(plan, resolved, options)
        if not is_named(wanted.environment, options, "destroy it"):
            say("nothing was destroyed")
            return ExitCode.FAILED
        with way_back(work, _again(options)):
            destroy(work, inventory, only)
        return _end(plan_destroy(work.live, inventory), resolved, options)


def _show(plan: DestroyPlan, resolved: Resolved) -> None:
    costs = plan_of(resolved, bundled_prices(resolved.region))
    goes = [*plan.stacks, *([plan.network] if plan.network and not plan.holders else [])]
    lines = [f"{resolved.name}: what goes, in this order: {', '.join(goes) or 'nothing'}"]
    if resolved.stacks.cluster in goes:
        lines.append("  nodes go with what is on their volumes, and jobs on them end")
        if records_key(resolved):
            lines.append("  job records are saved first: the next controller begins with them")
    if plan.network and plan.holders:
        lines.append(f"{plan.network} stays: {', '.join(plan.holders)} will be in it")
    if resolved.stacks.cluster in goes and len(goes) == 1:
        lines.append(f"what stays costs: {per_month(costs.without_cluster)}")
    else:
        lines += ["retained, and billed until you delete it:", *what_stays(costs)]
    if plan.unknown:
        lines.append(f"stacks that the file does not describe stay: {', '.join(plan.unknown)}")
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _refusal(resolved: Resolved) -> ExitCode | None:
    """Return how it ends before it has begun, after saying why; None where it can begin."""
    if resolved.protected:
        say(f"refused: {resolved.name} is protected, and its stacks refuse to be deleted")
        say("  fix: write 'protected: false', deploy that, then destroy")
        return ExitCode.FAILED
    if cdk_script() is None:
        say(CDK_IS_MISSING)
        return ExitCode.UNPREPARED
    return None


def _end(plan: DestroyPlan, resolved: Resolved, options: argparse.Namespace) -> ExitCode:
    """Tell what there is now, and name the next command."""
    if options.json:
        print_json({"name": resolved.name, **dataclasses.asdict(plan)})
    if plan.is_nothing and not plan.network:
        say(f"nothing of {resolved.name} is left in CloudFormation")
    elif plan.is_nothing:
        say(f"{plan.network} is left; what is in it has to be deleted first:")
        for holder in plan.holders:
            say(f"  {_deletion(holder, resolved)}")
        say_next("destroy", options.file)
    elif options.dry_run:
        say_next("destroy", options.file)
    else:
        say(f"stacks that are left: {', '.join((*plan.stacks, plan.network)).rstrip(', ')}")
        say_next("deploy", options.file)
    return ExitCode.OK


def _again(options: argparse.Namespace) -> str:
    only = f" --only {shlex.quote(options.only)}" if options.only else ""
    return f"slurmpod destroy {shlex.quote(str(options.file))}{only}"


def _deletion(holder: str, resolved: Resolved) -> str:
    """Return the command that deletes what is in the network, and all data in it."""
    if holder.startswith("fs-"):
        what = f"fsx delete-file-system --file-system-id {holder}"
    elif ":notebook-instance/" in holder:
        name = f"--notebook-instance-name {holder.rpartition('/')[2]}"
        what = f"sagemaker delete-notebook-instance {name}"
    else:
        what = f"rds delete-db-instance --db-instance-identifier {holder}"
    return f"aws {what} --region {resolved.region}"
