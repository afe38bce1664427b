"""`slurmpod report`: one page about an environment or a rehearsal, to read and to share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import print_json, say, say_next
from slurmpod.cli.plan_text import plan_data
from slurmpod.cli.report_file import require_writable, write_page
from slurmpod.operations.attempt import Unavailable, plain, read
from slurmpod.plan.plan import plan_of
from slurmpod.plan.prices import bundled_prices
from slurmpod.problems import ExitCode
from slurmpod.reading.extends import SUFFIXES
from slurmpod.rehearsal.state import CHOSEN, read_faults, rehearsals
from slurmpod.report.findings import findings_of
from slurmpod.report.page import Known, page_of
from slurmpod.report.record import FaultRecord, Record, Rehearsed
from slurmpod.rules.check import Sound

if TYPE_CHECKING:
    from slurmpod.rehearsal.processes import Rehearsal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "what", metavar="ENV|REHEARSAL", help="environments/dev.yaml, or the id of a rehearsal"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("report.html"),
        metavar="FILE",
        help="file of the page; replaces an earlier report (default: report.html)",
    )
    parser.add_argument("--json", action="store_true", help="print the facts as JSON instead")


def run(options: argparse.Namespace) -> ExitCode:
    """Read the current state, and write the page."""
    if not options.json:
        require_writable(options.out)
    known = _known(options.what)
    if options.json:
        print_json(facts(known))
        return ExitCode.OK
    write_page(options.out, page_of(known))
    say(f"{options.out} shows {_in_words(known)}")
    say_next("preflight" if isinstance(known.record, Unavailable) else "status", Path(known.file))
    return ExitCode.OK


def _known(what: str) -> Known:
    if Path(what).is_file() or what.endswith(SUFFIXES):
        chosen = os.environ.get(CHOSEN)  # this shell uses a rehearsal, as `status` does
        rehearsed = _rehearsed(rehearsals() / chosen) if chosen else None
        return known_of(Path(what), sound_environment(Path(what)), rehearsed)
    from slurmpod.cli.kept_rehearsals import readable_rehearsal  # needs the extra 'rehearsal'

    rehearsal = readable_rehearsal(what)
    file = Path(rehearsal.request.environment_file)
    return known_of_rehearsal(rehearsal, sound_environment(file))


def known_of_rehearsal(rehearsal: Rehearsal, sound: Sound, failure: str = "") -> Known:
    """Return the facts of a running rehearsal; `failure` is why it failed, if it did."""
    has_nodes = not rehearsal.request.cloud_only
    rehearsed = replace(_rehearsed(rehearsal.folder), has_nodes=has_nodes, failure=failure)
    with _led_there(rehearsal):
        return known_of(Path(rehearsal.request.environment_file), sound, rehearsed)


def _rehearsed(folder: Path) -> Rehearsed:
    return Rehearsed(folder.name, faults=tuple(map(FaultRecord.read, read_faults(folder))))


@contextmanager
def _led_there(rehearsal: Rehearsal) -> Iterator[None]:
    """Direct AWS calls and sessions on nodes to a rehearsal only."""
    from embedded_aws.isolation import isolated_environment, process_environment
    from slurmpod.rehearsal.session_plugin import variables

    has_nodes = not rehearsal.request.cloud_only
    sessions = variables(rehearsal.folder) if has_nodes else {}
    environment = isolated_environment(os.environ, {**rehearsal.variables, **sessions})
    with process_environment(environment):
        yield


def known_of(file: Path, sound: Sound, rehearsed: Rehearsed | None) -> Known:
    """Return the content of the page; parts that could not be read have the reason."""
    resolved = sound.resolved
    return Known(
        file=min(str(file), os.path.relpath(file), key=len),
        resolved=resolved,
        plan=plan_of(resolved, bundled_prices(resolved.region)),
        findings=findings_of(sound),
        record=read(lambda: _record(sound, rehearsed)),
    )


def _record(sound: Sound, rehearsed: Rehearsed | None) -> Record:
    from slurmpod.aws.clients import clients_of  # needs the extra 'aws'
    from slurmpod.report.gather import askers, record_of

    has_nodes = rehearsed is None or rehearsed.has_nodes
    asked = askers(clients_of(sound.resolved.region), has_nodes=has_nodes)
    return record_of(asked, sound.resolved, datetime.now(UTC), rehearsed)


def facts(known: Known) -> Mapping[str, Any]:
    """Return the content of the page as plain data; an unread part is `{"unread": why}`.

    Pictures are left out: `slurmpod dashboards --pictures` writes them.
    """
    record = known.record
    if isinstance(record, Record) and not isinstance(record.panels, Unavailable):
        record = replace(record, panels=None)
    return {
        "file": known.file,
        "plan": plan_data(known.plan),
        "findings": plain(known.findings),
        "record": plain(record),
    }


def _in_words(known: Known) -> str:
    if isinstance(known.record, Unavailable):
        return f"the plan; the current state is unknown: {known.record.why}"
    if known.record.rehearsed:
        return f"the rehearsal {known.record.rehearsed.identifier}"
    return "the plan, the last deployment and the current state"
