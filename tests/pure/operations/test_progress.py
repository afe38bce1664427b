from __future__ import annotations

import pytest

from slurmpod.operations.progress import Progress


def test_what_a_script_prints_is_never_taken_for_markup() -> None:
    progress = Progress()
    with progress.stage("deploying"):
        progress.now("ip-10-0-0-4: reading [/opt/slurm/etc] and [bold")
    assert list(progress.seconds) == ["deploying"]


def test_a_note_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    Progress().note("job 7: train:fire:[/fsx]")
    assert capsys.readouterr().err == "job 7: train:fire:[/fsx]\n"
