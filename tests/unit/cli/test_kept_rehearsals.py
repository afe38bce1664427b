"""Which rehearsal `slurmpod rehearsal` means."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmpod.cli import kept_rehearsals
from slurmpod.cli.kept_rehearsals import NotThere, _chosen
from slurmpod.rehearsal.lifetimes import UnknownRehearsal
from slurmpod.rehearsal.state import CHOSEN


@pytest.fixture(autouse=True)
def several(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [UnknownRehearsal(Path(name), "") for name in ("dev-1a2b3c", "prod-4d5e6f")]
    monkeypatch.setattr(kept_rehearsals, "running", lambda: found)
    monkeypatch.delenv(CHOSEN, raising=False)


def test_that_of_env_counts_where_nobody_says_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOSEN, "prod-4d5e6f")
    assert _chosen(None).identifier == "prod-4d5e6f"
    assert _chosen("dev-1a2b3c").identifier == "dev-1a2b3c"


@pytest.mark.parametrize("exported", ["", "gone-000000"])
def test_one_that_is_gone_is_none(exported: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOSEN, exported)
    with pytest.raises(NotThere, match="choose one with --id: dev-1a2b3c, prod-4d5e6f"):
        _chosen(None)


def test_one_that_was_asked_for_and_is_gone_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOSEN, "dev-1a2b3c")
    with pytest.raises(NotThere, match="no rehearsal 'gone-000000' runs"):
        _chosen("gone-000000")
