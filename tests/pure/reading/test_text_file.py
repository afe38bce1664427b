from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from slurmpod.reading import text_file
from slurmpod.reading.read import read
from slurmpod.reading.text_file import Unreadable, read_text
from slurmpod.rules.check import check
from tests.sound_environment import SOUND

KEYS = {
    "users": "access: {users_file: FILE}\n",
    "hook": "lifecycle: {hooks: {worker: {before: FILE}}}\n",
    "policy": "identity: {permissions_boundary: {policy_arn: "
    "'arn:aws:iam::123456789012:policy/b', policy_file: FILE}}\n",
    "base": "extends: FILE\n",
}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("name", ["pipe", "/dev/zero", "/dev/tty", "x" * 300])
def test_a_file_that_is_named_is_never_waited_for(tmp_path: Path, key: str, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    file = tmp_path / "dev.yaml"
    file.write_text(SOUND + KEYS[key].replace("FILE", name))
    found = check(read(file))
    assert [problem for problem in found if problem.rule == "RUL-001"] == []
    assert any(name[:40] in problem.message for problem in found)


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null"])
def test_a_device_is_no_environment(name: str) -> None:
    (problem,) = read(Path(name)).problems
    assert problem.message == "it is a device or a pipe, not a file"


def test_an_environment_may_come_out_of_a_pipe(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, SOUND.encode())
    os.close(writer)
    try:
        assert read_text(Path(f"/dev/fd/{reader}"), may_be_pipe=True) == SOUND
    finally:
        os.close(reader)


def test_a_pipe_into_which_nobody_writes_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(text_file, "WRITER_SECONDS", 0.05)
    (problem,) = read(tmp_path / "pipe").problems
    assert problem.message == "it is a pipe that nothing wrote to for 0.05 s"


def test_an_environment_may_come_out_of_a_named_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit((tmp_path / "pipe").write_text, SOUND)
        assert read_text(tmp_path / "pipe", may_be_pipe=True) == SOUND
        writing.result()


def test_another_encoding_is_told_with_line_and_byte(tmp_path: Path) -> None:
    file = tmp_path / "dev.yaml"
    file.write_bytes("name: dev\nowner: J\u00fcrgen\n".encode("latin-1"))
    with pytest.raises(Unreadable, match="line 2 has the byte 0xFC") as raised:
        read_text(file)
    assert raised.value.line == 2
