"""`slurmpod destroy`: delete an environment's stacks in reverse; list what stays and its cost."""

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
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument("--only", metavar="STACK", help="destroy this stack alone, e.g. cluster")
    parser.add_argument("--dry-run", action="store_true", help="only show the plan")
    parser.add_argument("--yes", action="store_true", help="do not ask for the name")
    parser.add_argument(
        "--json", action="store_true", help="print deleted and retained resources as JSON"
    )


def run(options: argparse.Namespace) -> ExitCode:
    """Show what is deleted and what stays, ask for the name, and destroy."""
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
    lines = [f"{resolved.name}: stacks to delete, in this order: {', '.join(goes) or 'nothing'}"]
    if resolved.stacks.cluster in goes:
        lines.append("  nodes, their volumes and running jobs are lost")
        if records_key(resolved):
            lines.append("  job records are saved first, for the next controller")
    if plan.network and plan.holders:
        lines.append(f"{plan.network} stays, because it contains {', '.join(plan.holders)}")
    if resolved.stacks.cluster in goes and len(goes) == 1:
        lines.append(f"cost of what stays: {per_month(costs.without_cluster)}")
    else:
        lines += ["retained, and billed until you delete them:", *what_stays(costs)]
    if plan.unknown:
        lines.append(f"stacks that are not in the file stay: {', '.join(plan.unknown)}")
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _refusal(resolved: Resolved) -> ExitCode | None:
    """Return the exit code, after printing the reason, if it cannot start; else None."""
    if resolved.protected:
        say(f"refused: {resolved.name} is protected, and its stacks have termination protection")
        say("  fix: set 'protected: false', deploy, then destroy")
        return ExitCode.FAILED
    if cdk_script() is None:
        say(CDK_IS_MISSING)
        return ExitCode.UNPREPARED
    return None


def _end(plan: DestroyPlan, resolved: Resolved, options: argparse.Namespace) -> ExitCode:
    """Print the outcome and suggest the next command."""
    if options.json:
        print_json({"name": resolved.name, **dataclasses.asdict(plan)})
    if plan.is_nothing and not plan.network:
        say(f"nothing of {resolved.name} is left in CloudFormation")
    elif plan.is_nothing:
        say(f"{plan.network} is left; delete its contents first:")
        for holder in plan.holders:
            say(f"  {_deletion(holder, resolved)}")
        say_next("destroy", options.file)
    elif options.dry_run:
        say_next("destroy", options.file)
    else:
        say(f"remaining stacks: {', '.join((*plan.stacks, plan.network)).rstrip(', ')}")
        say_next("deploy", options.file)
    return ExitCode.OK


def _again(options: argparse.Namespace) -> str:
    only = f" --only {shlex.quote(options.only)}" if options.only else ""
    return f"slurmpod destroy {shlex.quote(str(options.file))}{only}"


def _deletion(holder: str, resolved: Resolved) -> str:
    """Return the command that deletes a resource in the network, and all its data."""
    if holder.startswith("fs-"):
        what = f"fsx delete-file-system --file-system-id {holder}"
    elif ":notebook-instance/" in holder:
        name = f"--notebook-instance-name {holder.rpartition('/')[2]}"
        what = f"sagemaker delete-notebook-instance {name}"
    else:
        what = f"rds delete-db-instance --db-instance-identifier {holder}"
    return f"aws {what} --region {resolved.region}"
