"""Files are written whole or not at all, and stay what they were but for what is in them."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from slurmpod.whole_file import write_whole


def test_what_is_interrupted_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "facts.json"
    write_whole(file, "before")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    for step in ("write_bytes", "replace"):
        with monkeypatch.context() as patched:
            patched.setattr(Path, step, interrupt)
            with pytest.raises(KeyboardInterrupt):
                write_whole(file, "after")
        assert [each.name for each in tmp_path.iterdir()] == ["facts.json"]
        assert file.read_text() == "before"


def test_a_mode_stays_and_a_link_leads_where_it_led(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.touch(mode=0o600)
    link.symlink_to(file)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"new", 0o600)


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    write_whole(pipe, "through")
    reader.join(60)
    assert read == ["through"]
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", ["nowhere/file", "."])
def test_an_error_names_the_file_that_was_wanted(name: str, tmp_path: Path) -> None:
    with pytest.raises(OSError) as failure:  # noqa: PT011 - the kind is the system's
        write_whole(tmp_path / name, "text")
    assert failure.value.filename == str(tmp_path / name)
