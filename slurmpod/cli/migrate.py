"""`slurmpod migrate`: make an irreversible change to a live cluster, and verify what stayed."""

from __future__ import annotations

import argparse
import dataclasses
import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from slurmpod.aws.clients import AwsClients, clients_of
from slurmpod.aws.cluster import ClusterView, Node
from slurmpod.cli.changes_text import changes_text
from slurmpod.cli.confirmation import is_named
from slurmpod.cli.connect import has_plugin
from slurmpod.cli.deploy import is_prepared, is_stopped_by_the_account
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.lifecycle import print_reports
from slurmpod.cli.live_cluster import slurm_of
from slurmpod.cli.output import print_json, say, say_next
from slurmpod.cli.stacks import way_back
from slurmpod.operations.deploy.deployment import Deployment
from slurmpod.operations.deploy.stack_work import StacksFailed, StackWork
from slurmpod.operations.deploy.work_folder import work_folder
from slurmpod.operations.difference import Difference
from slurmpod.operations.migration.live import Asked, nodes_in_the_way
from slurmpod.operations.migration.moves import (
    MOVES,
    RECORDS,
    Move,
    moves_in,
    others,
    strategy_in_the_way,
)
from slurmpod.operations.migration.picture import RUNNING, Picture, Row, compared
from slurmpod.operations.migration.records import (
    OtherDatabase,
    copy_records,
    forget_the_copy,
    go_on_here,
)
from slurmpod.problems import ExitCode, counted
from slurmpod.resolve.database import DATABASE_NAME
from slurmpod.rules.check import Sound
from slurmpod.whole_file import write_whole

SLURMDBD_IS_STOPPED = (
    "slurmdbd may be stopped on the controller: the same command resumes the move, and "
    "`systemctl start slurmdbd` there gives up on it"
)
KEPT = "migration.json"
"""The state before a move in progress; deleted once the move is verified."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument("--dry-run", action="store_true", help="only show the plan")
    parser.add_argument("--yes", action="store_true", help="do not ask for the name")
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")
    parser.set_defaults(no_nodes=False)


def run(options: argparse.Namespace) -> ExitCode:
    """Find the move, show it, ask for the name, make it, and compare before with after."""
    wanted = sound_environment(options.file)
    if not has_plugin():
        return ExitCode.FAILED
    clients = clients_of(wanted.resolved.region)
    with work_folder(wanted.resolved) as folder:
        if is_stopped_by_the_account(wanted):
            say("nothing was changed")
            return ExitCode.FAILED
        deployment = Deployment(StackWork.of(options.file, wanted.resolved, folder, clients))
        kept = _kept(folder / KEPT)
        move = kept.move if kept else _move(deployment.difference)
        if move is None:
            return _nothing_to_do(deployment.difference, options.file)
        migration = Migration(options, wanted, clients, folder, move, deployment)
        return migration.run(kept.picture if kept else None)


@dataclass(frozen=True)
class Kept:
    """A move in progress, and the state before it."""

    move: Move
    picture: Picture


@dataclass(frozen=True)
class Migration:
    """One move of one cluster."""

    options: argparse.Namespace
    wanted: Sound
    clients: AwsClients
    folder: Path
    move: Move
    deployment: Deployment

    def run(self, before: Picture | None) -> ExitCode:
        """Make the move, or continue one that started from `before`."""
        if before:
            return self._go_on(before)
        nodes = self._nodes()
        asked = self._asked(nodes)
        before = asked.picture()
        self._show(before)
        reasons = tuple(self._in_the_way(nodes, before))
        if reasons:
            say("\n".join(reasons))
            say("nothing was changed")
            return ExitCode.FAILED
        if self.options.dry_run:
            say_next("migrate", self.options.file)
            return ExitCode.OK
        if not is_prepared(self.options):
            return ExitCode.UNPREPARED
        if not is_named(self.wanted.environment, self.options, "move it"):
            say("nothing was changed")
            return ExitCode.FAILED
        self._copy(asked)
        kept = {"move": self.move.name, "before": before.as_data()}
        write_whole(self.folder / KEPT, json.dumps(kept))
        return self._make(before)

    def _go_on(self, before: Picture) -> ExitCode:
        """Make the confirmed move, unless the file has changed further since."""
        say(f"continuing: {self.move.title}")
        reasons = tuple(self._other_changes())
        if reasons:
            say("\n".join(reasons))
            return ExitCode.FAILED
        return self._make(before)

    @property
    def _again(self) -> str:
        return f"slurmpod migrate {shlex.quote(str(self.options.file))}"

    def _nodes(self) -> Sequence[Node]:
        return ClusterView(self.clients).nodes(self.wanted.resolved.name)

    def _asked(self, nodes: Sequence[Node]) -> Asked:
        resolved = self.wanted.resolved
        return Asked(slurm_of(resolved, self.clients, nodes), resolved.slurm.accounting)

    def _make(self, before: Picture) -> ExitCode:
        """Deploy, run scripts, and compare; skip steps that are done."""
        try:
            self._bring_records()
            with way_back(self.deployment.stacks, self._again):
                done = self.deployment.carry_out(sees_job=False)
        except KeyboardInterrupt:
            if self.move is RECORDS:
                say(SLURMDBD_IS_STOPPED)
            raise
        except StacksFailed:
            if self.move is RECORDS:
                go_on_here(self._asked(self._nodes()).slurm)
            say(
                "CloudFormation rolls the failed update back, so the cluster is unchanged; "
                "the reason is above, and the same command tries again"
            )
            raise
        if done.reports and not self.options.json:
            roles = {group.name: group.role for group in self.wanted.resolved.groups}
            print_reports(done.reports, roles)
        nodes = self._nodes()
        rows = compared(before, self._asked(nodes).picture_when_it_answers(before))
        self._tell(rows)
        failed = [each.name for each in done.reports if not each.succeeded]
        if failed:
            say(f"scripts failed on {', '.join(failed)}")
        if failed or any(row.lost for row in rows):
            say_next("why", self.options.file)
            return ExitCode.FAILED
        if self.move is RECORDS:
            forget_the_copy(self._asked(nodes).slurm)
        (self.folder / KEPT).unlink(missing_ok=True)
        say_next("status", self.options.file)
        return ExitCode.OK

    def _bring_records(self) -> None:
        """Copy the job records, unless slurmdbd already uses the other database."""
        resolved = self.wanted.resolved
        database = resolved.database
        if self.move is not RECORDS or database is None or not self.deployment.difference.changes:
            return
        self.deployment.deploy_before_the_cluster()
        nodes = self._nodes()
        other = OtherDatabase(
            endpoint=str(database.endpoint),
            port=database.port,
            name=database.name or f"{DATABASE_NAME}_{self._cluster_id()}",
            secret_arn=str(database.secret_arn),
            user=database.user,
        )
        say(copy_records(self._asked(nodes).slurm, other))

    def _cluster_id(self) -> str:
        """Return the suffix of HyperPod's default name for a database."""
        return ClusterView(self.clients).cluster_id(self.wanted.resolved.name)

    def _show(self, before: Picture) -> None:
        move, effect = self.move, self.move.effect
        running = len(before.in_state(RUNNING))
        now = (
            f"{counted(running, 'running job')}, {len(before.jobs) - running} others, "
            f"{counted(before.records, 'record')}, {counted(len(before.nodes), 'node')}"
        )
        lines = [
            f"{self.wanted.resolved.name}: {move.title}",
            *(f"  {number}. {step}" for number, step in enumerate(move.steps, 1)),
            f"nodes and jobs: {move.nodes}",
            f"now: {now}",
            "this cannot be undone",
            f"source: {effect.source}",
            *([f"not proven: {effect.doubt}"] if effect.doubt else []),
        ]
        say("\n".join(lines))

    def _in_the_way(self, nodes: Sequence[Node], before: Picture) -> Iterator[str]:
        yield from self._other_changes()
        deployed, resolved = self.deployment.difference.deployed, self.wanted.resolved
        record = deployed.record if deployed and deployed.record else {}
        strategies = (
            (record.get("slurm") or {}).get("config_strategy"),
            (resolved.slurm.config_strategy),
        )
        yield from strategy_in_the_way(
            self.move,
            *strategies,
            jobs=bool(before.in_state(RUNNING)),
            customer=resolved.lifecycle.mode == "customer",
        )
        yield from nodes_in_the_way(self.move, nodes)

    def _other_changes(self) -> Iterator[str]:
        rest = others(self.move, self.deployment.difference.changes)
        if rest:
            text = changes_text(rest, self.wanted.resolved.name, self.wanted.source)
            yield f"deploy these changes separately, before or after the move:\n{text.rstrip()}"

    def _copy(self, asked: Asked) -> None:
        copies = asked.copy(self.folder / f"before-{self.move.name}")
        names = ", ".join(each.name for each in copies)
        say(f"copied to {self.folder / f'before-{self.move.name}'}: {names}")

    def _tell(self, rows: Sequence[Row]) -> None:
        if self.options.json:
            facts = [dataclasses.asdict(row) for row in rows]
            print_json({"move": self.move.name, "stayed": facts})
            return
        table = Table("what", "before", "after", "lost")
        for row in rows:
            table.add_row(row.what, str(row.before), row.after, ", ".join(row.lost) or "nothing")
        sys.stdout.flush()
        Console().print(table)


def _move(difference: Difference) -> Move | None:
    """Return the first move that the file asks for; the next one is for the next run."""
    return next(iter(moves_in(difference.changes)), None)


def _nothing_to_do(difference: Difference, file: Path) -> ExitCode:
    name, deployed = difference.wanted.name, difference.deployed
    if deployed is None or not deployed.has_cluster or deployed.record is None:
        say(f"{name} has no cluster that slurmpod deployed: nothing to move")
        return ExitCode.FAILED
    paths = ", ".join(move.path for move in MOVES)
    say(f"{name}: nothing to move; irreversible changes are those of {paths}")
    say_next("diff", file)
    return ExitCode.OK


def _kept(file: Path) -> Kept | None:
    if not file.is_file():
        return None
    data: dict[str, Any] = json.loads(file.read_text())
    move = next(each for each in MOVES if each.name == data["move"])
    return Kept(move, Picture.of(data["before"]))
