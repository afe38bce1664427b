"""Whose scripts failed a rehearsal, from its journal and its logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmpod.rehearsal.failed_scripts import failed_scripts
from slurmpod.rehearsal.journal_entries import LIFECYCLE_FAILED, LOGS_FOLDER
from slurmpod.rehearsal.state import Journal


@pytest.mark.parametrize(
    ("cluster", "name", "said"),
    [("", "ip-10-0-0-4", "no licence"), ("twin", "twin/ip-10-0-0-4", "no disk")],
)
def test_nodes_of_two_vpcs_with_the_same_name_are_not_mistaken(
    tmp_path: Path, cluster: str, name: str, said: str
) -> None:
    logs = tmp_path / LOGS_FOLDER
    (logs / "twin").mkdir(parents=True)
    (logs / "ip-10-0-0-4-i-1.log").write_text("no licence\n")
    (logs / "twin/ip-10-0-0-4-i-2.log").write_text("no disk\n")
    Journal(tmp_path).within(cluster).note("ip-10-0-0-4", LIFECYCLE_FAILED)
    failed = failed_scripts(tmp_path, {})
    assert failed is not None
    assert (failed.hostname, failed.last_lines) == (name, (said,))
