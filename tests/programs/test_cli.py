"""The commands as a user runs them, with their output and exit codes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from slurmpod.cli import main as main_module
from slurmpod.cli.commands import COMMANDS
from slurmpod.cli.main import run
from slurmpod.problem_text import RED, paint
from slurmpod.problems import ExitCode
from tests.golden_files import ROOT, assert_matches
from tests.sound_environment import SOUND, sound_with

SLURMPOD = Path(sys.executable).with_name("slurmpod")
OFFLINE_COMMANDS = [name for name, command in COMMANDS.items() if command.brief]


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(name="slurmpod")
def _slurmpod(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run a command in this process."""

    def invoke(*arguments: object) -> Result:
        code = run([str(argument) for argument in arguments])
        return Result(code, *capsys.readouterr())

    return invoke


@pytest.fixture(name="sound_file")
def _sound_file(tmp_path: Path) -> Path:
    file = tmp_path / "dev.yaml"
    file.write_text(SOUND)
    return file


@pytest.fixture(name="bad_file")
def _bad_file(tmp_path: Path) -> Path:
    file = tmp_path / "bad.yaml"
    file.write_text(sound_with("role: worker", "role: wroker"))
    return file


def process(
    *arguments: str, environment: dict[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run the console script itself, with its output buffered as in a user's shell."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(
        [SLURMPOD, *arguments],
        cwd=ROOT,
        env={**inherited, **(environment or {})},
        text=True,
        timeout=60,
        **{"capture_output": True, **options},
    )


# The command line as a whole


def test_the_help_names_all_commands_and_exit_codes(slurmpod: Callable[..., Result]) -> None:
    result = slurmpod("--help")
    assert result.code == ExitCode.OK
    for name, command in COMMANDS.items():
        assert f"  {name} " in result.out
        assert command.summary in result.out
    for code in ExitCode:
        assert f"\n  {code:d} " in result.out


def test_without_a_command_the_help_is_shown_as_a_mistake(slurmpod: Callable[..., Result]) -> None:
    assert slurmpod() == (ExitCode.USAGE, slurmpod("--help").out, "")


def test_a_mistyped_command_is_guessed(slurmpod: Callable[..., Result]) -> None:
    result = slurmpod("valdate")
    assert result.code == ExitCode.USAGE
    assert "did you mean 'validate'?" in result.err
    assert "commands: init, validate, expand" in slurmpod("elephant").err


@pytest.mark.parametrize("name", OFFLINE_COMMANDS)
def test_every_command_explains_itself(slurmpod: Callable[..., Result], name: str) -> None:
    result = slurmpod(name, "--help")
    assert result.code == ExitCode.OK
    assert result.out.startswith(f"usage: slurmpod {name} ")
    assert slurmpod(name, "--no-such-option").code == ExitCode.USAGE


@pytest.fixture(name="failing")
def _failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Let every command end with an exception."""

    def install(error: BaseException) -> None:
        def fail(*_: object) -> int:
            raise error

        monkeypatch.setattr(main_module, "_run_command", fail)

    return install


def test_an_unexpected_error_is_two_lines_and_no_traceback(
    slurmpod: Callable[..., Result], failing: Callable[[BaseException], None]
) -> None:
    failing(KeyError("lost"))
    result = slurmpod("validate")
    assert result.code == ExitCode.FAILED
    assert result.err.splitlines() == [
        "slurmpod: unexpected error: KeyError: 'lost'",
        "This is a bug in slurmpod; run the command with --debug for a traceback.",
    ]


def test_debug_shows_where_an_unexpected_error_arose(
    slurmpod: Callable[..., Result], failing: Callable[[BaseException], None]
) -> None:
    failing(KeyError("lost"))
    with pytest.raises(KeyError):
        slurmpod("validate", "--debug")


def test_what_the_machine_refuses_is_one_line(
    slurmpod: Callable[..., Result], failing: Callable[[BaseException], None]
) -> None:
    failing(PermissionError(13, "Permission denied", "/etc/x"))
    result = slurmpod("validate")
    assert (result.code, result.err) == (
        ExitCode.FAILED,
        "slurmpod: Permission denied: /etc/x\n",
    )


def test_an_interrupt_has_its_own_exit_code(
    slurmpod: Callable[..., Result], failing: Callable[[BaseException], None]
) -> None:
    failing(KeyboardInterrupt())
    assert slurmpod("validate") == (ExitCode.INTERRUPTED, "", "interrupted\n")


@pytest.mark.parametrize("buffering", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "not"])
@pytest.mark.parametrize(
    "command", [("explain", "--markdown"), ("dashboards", "environments/examples/watched.yaml")]
)
def test_a_reader_that_leaves_ends_the_command_without_a_word(
    command: Sequence[str], buffering: dict[str, str]
) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    result = process(
        *command,
        environment=buffering,
        stdout=write_end,
        stderr=subprocess.PIPE,
        capture_output=False,
    )
    os.close(write_end)
    assert (result.returncode, result.stderr) == (ExitCode.UNREAD, "")


def test_a_connection_that_breaks_is_a_failure(
    slurmpod: Callable[..., Result], failing: Callable[[BaseException], None]
) -> None:
    failing(BrokenPipeError(32, "Broken pipe"))
    assert slurmpod("rehearse", "dev.yaml") == (ExitCode.FAILED, "", "slurmpod: Broken pipe\n")


def test_a_full_disk_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        result = process("explain", stdout=full, stderr=subprocess.PIPE, capture_output=False)
    assert (result.returncode, result.stderr) == (
        ExitCode.FAILED,
        "slurmpod: No space left on device\n",
    )


def test_the_console_script_ends_with_the_exit_code_and_all_output() -> None:
    result = process("validate", "environments/dev.yaml")
    assert result.returncode == ExitCode.OK
    assert result.stdout == "1 file: no problems\n"
    placeholder = "123456789012 is a placeholder: replace it before you deploy"
    assert result.stderr == (
        f"note: environments/dev.yaml:5:10: {placeholder}\n"
        "note: environments/dev.yaml: "
        "no group names its image (image_id): new nodes get the newest\n"
        "next: slurmpod rehearse environments/dev.yaml\n"
    )
    assert process("validate", "no/such.yaml").returncode == ExitCode.INVALID


def test_characters_that_the_terminal_lacks_do_not_stop_a_command(tmp_path: Path) -> None:
    file = tmp_path / "équipe.yaml"
    file.write_text("name: équipe", encoding="utf-8")
    result = process("validate", str(file), environment={"PYTHONIOENCODING": "ascii"})
    assert result.returncode == ExitCode.INVALID
    assert r"\xe9quipe.yaml:1:7: error: name: '\xe9quipe' does not" in result.stdout


# validate


def test_mistakes_are_shown_with_line_caret_and_fix(
    slurmpod: Callable[..., Result], bad_file: Path
) -> None:
    result = slurmpod("validate", bad_file)
    assert result.code == ExitCode.INVALID
    first, *excerpt, fix, blank, summary = result.out.splitlines()
    place, message = f"{bad_file}:18:13", "'wroker' is not one of the choices"
    assert first == f"{place}: error: cluster.groups[1].role: {message} [ENV-004]"
    assert excerpt == ["   18 |       role: wroker", "                    ^"]
    assert fix.startswith("  fix: did you mean 'worker'? write one of controller, login, worker (")
    assert (blank, summary) == ("", "1 file: 1 error")
    assert result.err == ""


def test_json_has_all_facts_and_nothing_else(
    slurmpod: Callable[..., Result], bad_file: Path
) -> None:
    result = slurmpod("validate", bad_file, "--json")
    data = json.loads(result.out)
    assert (result.code, result.err, data["files"]) == (ExitCode.INVALID, "", [str(bad_file)])
    (problem,) = data["problems"]
    assert problem["rule"] == "ENV-004"
    assert problem["where"] == {
        "file": str(bad_file),
        "line": 18,
        "column": 13,
        "path": "cluster.groups[1].role",
    }


def test_warnings_are_shown_and_passed(slurmpod: Callable[..., Result], tmp_path: Path) -> None:
    file = tmp_path / "dev.yaml"
    file.write_text(sound_with("vpc_cidr: 10.0.0.0/16", "vpc_cidr: 172.17.0.0/16"))
    result = slurmpod("validate", file)
    assert result.code == ExitCode.OK
    assert ": warning: network.vpc_cidr: " in result.out
    assert result.out.endswith("1 file: 1 warning\n")
    assert result.err.endswith(f"next: slurmpod rehearse {file}\n")
    assert result.err.count("\n") == len(["note", "note", "note", "next"])


def test_values_of_the_readme_are_noted_where_nothing_else_is_wrong(
    slurmpod: Callable[..., Result], sound_file: Path, bad_file: Path
) -> None:
    assert "note:" not in slurmpod("validate", bad_file).err
    assert slurmpod("validate", sound_file).err.splitlines()[0] == (
        f"note: {sound_file}:2:10: 123456789012 is a placeholder: replace it before you deploy"
    )
    text = SOUND.replace("123456789012", "210987654321")
    sound_file.write_text(text.replace("team: ml", "owner: ml@example.com\n  team: example.org"))
    assert slurmpod("validate", sound_file).err.splitlines()[0] == (
        f"note: {sound_file}:5:10: example.com is a placeholder (1 more value like it): "
        "replace it before you deploy"
    )
    sound_file.write_text(text)
    assert "is a placeholder" not in slurmpod("validate", sound_file).err


def test_environments_whose_next_node_may_have_another_image_are_noted(
    slurmpod: Callable[..., Result], tmp_path: Path
) -> None:
    text = "edition: 2026\n" + SOUND.replace("123456789012", "210987654321")
    files = [tmp_path / f"{name}.yaml" for name in ("dev", "prod")]
    for file in files:
        file.write_text(text.replace("name: dev", f"name: {file.stem}"))
    shown = "no group names its image (image_id)"
    assert slurmpod("validate", files[0]).err.splitlines() == [
        f"note: {files[0]}: {shown}: new nodes get the newest",
        f"next: slurmpod rehearse {files[0]}",
    ]
    several = slurmpod("validate", *files).err
    assert f"note: {files[0]}: {shown} (1 more file like it): new nodes get the newest" in several
    pinned = "role: controller\n      image_id: ami-0123456789abcdef0\n"
    files[0].write_text(text.replace("role: controller\n", pinned))
    assert slurmpod("validate", files[0]).err == f"next: slurmpod rehearse {files[0]}\n"


def test_files_without_an_edition_are_noted_with_what_it_would_change(
    slurmpod: Callable[..., Result], tmp_path: Path
) -> None:
    files = [tmp_path / f"{name}.yaml" for name in ("dev", "prod", "old")]
    for file in files:
        file.write_text(SOUND.replace("name: dev", f"name: {file.stem}"))

    def notes(*checked: Path) -> list[str]:
        lines = slurmpod("validate", *checked).err.splitlines()
        return [line for line in lines if ": no edition" in line]

    files[2].write_text(f"edition: 2024\n{files[2].read_text()}")
    (note,) = notes(*files)
    assert note == (
        f"note: {files[0]}: no edition (1 more file like it): the defaults are those of 2024; "
        "'edition: 2026' would make lifecycle.mode extended and cluster.provisioning continuous "
        "(docs/modes.md)"
    )
    assert notes(files[2]) == []
    files[1].write_text(f"{files[1].read_text()}lifecycle: {{mode: managed}}\n")
    assert "'edition: 2026' would make cluster.provisioning continuous (" in notes(files[1])[0]
    files[1].write_text(f"{SOUND}lifecycle: {{mode: customer}}\n")
    assert notes(files[1]) == []


def test_all_files_of_a_folder_are_checked_and_compared(
    slurmpod: Callable[..., Result], sound_file: Path, bad_file: Path
) -> None:
    sound_file.with_name("same.yml").write_text(SOUND)
    sound_file.with_name("notes.txt").write_text("no environment")
    result = slurmpod("validate", sound_file.parent)
    assert result.code == ExitCode.INVALID
    assert "[ENV-004]" in result.out
    assert "[ENV-005]" in result.out
    assert result.out.endswith("3 files: 2 errors\n")


def test_a_folder_without_environments_is_a_mistake(
    slurmpod: Callable[..., Result], tmp_path: Path
) -> None:
    result = slurmpod("validate", tmp_path)
    assert (result.code, result.out) == (ExitCode.USAGE, "")
    assert str(tmp_path) in result.err


def test_the_environments_of_the_project_are_sound(slurmpod: Callable[..., Result]) -> None:
    result = slurmpod("validate", ROOT / "environments", "--json")
    assert json.loads(result.out)["problems"] == []


def test_the_name_of_a_file_is_quoted_in_the_next_command(
    slurmpod: Callable[..., Result], tmp_path: Path
) -> None:
    file = tmp_path / "my dev.yaml"
    file.write_text(SOUND)
    assert slurmpod("validate", file).err.splitlines()[-1] == f"next: slurmpod rehearse '{file}'"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"name: \xff\xfe", "the file is not UTF-8 text: line 1 has the byte 0xFF"),
        (SOUND.encode("utf-16"), "the file is not UTF-8 text: line 1 has the byte 0xFF"),
        (b"a: 1\0", "the character U+0000 is not allowed in YAML"),
        (b"a: " + b"x" * 1_000_001, "the file is larger than 1 MB"),
        (b"[" * 500_000, "values are nested more than 50 levels deep"),
    ],
)
def test_a_file_that_cannot_be_an_environment_is_one_problem(
    slurmpod: Callable[..., Result], tmp_path: Path, content: bytes, message: str
) -> None:
    file = tmp_path / "dev.yaml"
    file.write_bytes(content)
    result = slurmpod("validate", file, "--json")
    (problem,) = json.loads(result.out)["problems"]
    assert (result.code, problem["rule"], problem["message"]) == (
        ExitCode.INVALID,
        "ENV-001",
        message,
    )


@pytest.mark.parametrize(
    "content", [b"\xef\xbb\xbf" + SOUND.encode(), SOUND.replace("\n", "\r\n").encode()]
)
def test_byte_order_marks_and_line_endings_of_windows_are_read(
    slurmpod: Callable[..., Result], tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "dev.yaml"
    file.write_bytes(content)
    assert slurmpod("validate", file).code == ExitCode.OK


def test_a_missing_file_and_a_folder_are_problems_of_the_file(
    slurmpod: Callable[..., Result], tmp_path: Path
) -> None:
    missing = slurmpod("validate", tmp_path / "missing.yaml")
    assert missing.code == ExitCode.INVALID
    assert "missing.yaml:1:1: error: cannot read the file: No such file" in missing.out
    folder = slurmpod("expand", tmp_path)
    assert folder.code == ExitCode.INVALID
    assert "cannot read the file: Is a directory" in folder.err


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("team: ml", r'"\e[31mteam": 5'),
        ("name: dev", r'name: "a\e[0m"'),
        ("name: dev", "name: dev # \x1b[31m"),
        ("name: dev", "name: dev\u202e"),
    ],
)
def test_what_a_terminal_would_obey_is_not_sent_to_it(
    slurmpod: Callable[..., Result], tmp_path: Path, old: str, new: str
) -> None:
    file = tmp_path / "dev.yaml"
    file.write_text(sound_with(old, new), encoding="utf-8")
    result = slurmpod("validate", file)
    assert result.code == ExitCode.INVALID
    assert all(line.isprintable() for line in result.out.splitlines())


def test_a_long_line_is_cut_around_the_caret(
    slurmpod: Callable[..., Result], tmp_path: Path
) -> None:
    file = tmp_path / "dev.yaml"
    file.write_text(sound_with("team: ml", f'{{a: "{"x" * 200}", b: [], c: "{"x" * 200}"}}'))
    excerpt = slurmpod("validate", file).out.splitlines()[1:3]
    assert max(map(len, excerpt)) <= 110
    assert excerpt[0][excerpt[1].index("^") :].startswith("[]")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert paint("error", RED, Terminal()) == "\x1b[31merror\x1b[0m"
    assert paint("error", RED, io.StringIO()) == "error"
    monkeypatch.setenv("TERM", "dumb")
    assert paint("error", RED, Terminal()) == "error"
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert paint("error", RED, Terminal()) == "error"


# files that extend others


@pytest.fixture(name="family")
def _family(tmp_path: Path) -> Path:
    """Make a folder with a part and two environments that extend it."""
    folder = tmp_path / "environments"
    folder.mkdir()
    (folder / "_base.yaml").write_text(SOUND.removeprefix("name: dev\n"))
    change = "cluster:\n  groups:\n    - name: workers\n      # more\n      count: 7\n"
    for name in ("dev", "prod"):
        (folder / f"{name}.yaml").write_text(f"extends: _base.yaml\nname: {name}\n{change}")
    return folder


def test_parts_in_a_folder_are_no_environments(
    slurmpod: Callable[..., Result], family: Path
) -> None:
    result = slurmpod("validate", family)
    assert (result.code, result.out) == (ExitCode.OK, "2 files: no problems\n")
    assert result.err.splitlines()[-1] == f"next: slurmpod rehearse {family / 'dev.yaml'}"
    result = slurmpod("validate", family / "_base.yaml")
    assert result.code == ExitCode.INVALID
    assert "'name' is missing here [ENV-002]" in result.out


@pytest.mark.parametrize(
    ("old", "new", "place", "rule"),
    [
        ("capacity_gib: 1200", "capacity_gib: 1300", "_base.yaml:10:19", "STO-001"),
        ("capacity_gib: 1200", "capacity_gib: 600", "_base.yaml:10:19", "ENV-004"),
        ("capacity_gib: 1200", "capacity_gib: [", "_base.yaml:12:9", "ENV-001"),
    ],
)
def test_a_mistake_in_a_base_is_shown_once_in_the_base(
    slurmpod: Callable[..., Result], family: Path, old: str, new: str, place: str, rule: str
) -> None:
    base = family / "_base.yaml"
    base.write_text(base.read_text().replace(old, new))
    result = slurmpod("validate", family)
    assert result.code == ExitCode.INVALID
    assert result.out.endswith("2 files: 1 error\n")
    first, excerpt, *_ = result.out.splitlines()
    assert first.startswith(f"{family}/{place}: error: ")
    assert first.endswith(f" (in {family}/dev.yaml, {family}/prod.yaml) [{rule}]")
    assert excerpt.startswith(f"   {place.split(':')[1]} | ")


def test_of_many_environments_with_a_mistake_in_their_base_some_are_named(
    slurmpod: Callable[..., Result], family: Path
) -> None:
    for number in range(10):
        (family / f"more{number}.yaml").write_text(f"extends: _base.yaml\nname: x{number}\n")
    base = family / "_base.yaml"
    base.write_text(base.read_text().replace("role: worker", "role: wroker"))
    (problem,) = json.loads(slurmpod("validate", family, "--json").out)["problems"]
    assert problem["where"]["file"] == str(base)
    assert problem["message"].endswith(f"{family}/more1.yaml and 9 more)")


def test_what_two_environments_say_against_a_base_is_two_problems(
    slurmpod: Callable[..., Result], family: Path
) -> None:
    for name in ("dev", "prod"):
        file = family / f"{name}.yaml"
        file.write_text(file.read_text().replace("count: 7", "count: -1"))
    problems = json.loads(slurmpod("validate", family, "--json").out)["problems"]
    places = [(problem["where"]["file"], problem["where"]["line"]) for problem in problems]
    assert places == [(str(family / "dev.yaml"), 7), (str(family / "prod.yaml"), 7)]


def test_a_mistake_of_form_in_a_file_does_not_hide_what_rules_find_in_its_base(
    slurmpod: Callable[..., Result], family: Path
) -> None:
    base, file = family / "_base.yaml", family / "dev.yaml"
    base.write_text(base.read_text().replace("capacity_gib: 1200", "capacity_gib: 1300"))
    file.write_text(file.read_text().replace("count:", "cuont:"))
    problems = json.loads(slurmpod("validate", file, "--json").out)["problems"]
    found = [(problem["rule"], problem["where"]["file"]) for problem in problems]
    assert found == [("STO-001", str(base)), ("ENV-003", str(file))]


def test_environments_with_the_name_of_their_part_clash(
    slurmpod: Callable[..., Result], family: Path
) -> None:
    (family / "_base.yaml").write_text(SOUND)
    for name in ("dev", "prod"):
        (family / f"{name}.yaml").write_text("extends: _base.yaml\n")
    (problem,) = json.loads(slurmpod("validate", family, "--json").out)["problems"]
    assert problem["rule"] == "ENV-005"


# expand


def test_expand_shows_defaults_and_what_follows(
    slurmpod: Callable[..., Result], sound_file: Path
) -> None:
    result = slurmpod("expand", sound_file)
    data = yaml.safe_load(result.out)
    assert result.code == ExitCode.OK
    assert data["environment"]["lifecycle"]["step_timeout_seconds"] == 600
    assert data["resolved"]["network"]["private"] == [
        {
            "zone": "us-west-2b",
            "cidr": "10.0.128.0/17",
            "addresses_needed": 5,
            "id": None,
            "addresses_usable": 32763,
        }
    ]
    assert data["resolved"]["groups"][1]["facts"]["valid_threads_per_core"] == [1, 2]
    assert result.err == f"next: slurmpod rehearse {sound_file}\n"


def test_expand_says_the_same_in_json(slurmpod: Callable[..., Result], sound_file: Path) -> None:
    as_yaml = yaml.safe_load(slurmpod("expand", sound_file).out)
    result = slurmpod("expand", sound_file, "--json")
    as_json = json.loads(result.out)
    del as_json["origins"]
    assert (as_json, result.err) == (as_yaml, "")


def test_expand_does_not_repeat_the_file_in_what_follows_from_it(
    slurmpod: Callable[..., Result], sound_file: Path
) -> None:
    resolved = yaml.safe_load(slurmpod("expand", sound_file).out)["resolved"]
    assert not {"environment", "slurm"} & resolved.keys()
    assert all("settings" not in each for each in (*resolved["groups"], *resolved["lustre"]))


def test_expand_shows_where_each_value_comes_from(
    slurmpod: Callable[..., Result], family: Path
) -> None:
    file = family / "dev.yaml"
    origins = json.loads(slurmpod("expand", file, "--json").out)["origins"]
    assert origins["name"] == f"{file}:2"
    assert origins["cluster.groups[1].count"] == f"{file}:7"
    assert origins["cluster.groups[1].role"] == f"{family}/_base.yaml:17"
    assert origins["lifecycle.step_timeout_seconds"] == "default"
    comments = [
        (value.strip(), comment)
        for line in slurmpod("expand", file).out.splitlines()
        for value, mark, comment in [line.partition("  # ")]
        if mark
    ]
    assert ("count: 7", "dev.yaml:7") in comments
    assert len(comments) == len(origins)


def test_what_expand_shows_of_the_file_is_an_environment_again(
    slurmpod: Callable[..., Result], sound_file: Path
) -> None:
    shown = yaml.safe_load(slurmpod("expand", sound_file).out)
    again = sound_file.with_name("again.yaml")
    again.write_text(yaml.safe_dump(shown["environment"]))
    assert yaml.safe_load(slurmpod("expand", again).out) == shown


@pytest.mark.parametrize("command", ["expand", "render"])
def test_commands_that_need_a_sound_environment_show_its_errors(
    slurmpod: Callable[..., Result], bad_file: Path, command: str
) -> None:
    result = slurmpod(command, bad_file)
    assert (result.code, result.out) == (ExitCode.INVALID, "")
    assert result.err.startswith(f"{bad_file}:18:13: error: ")


def test_warnings_go_beside_the_facts(slurmpod: Callable[..., Result], tmp_path: Path) -> None:
    file = tmp_path / "dev.yaml"
    file.write_text(sound_with("vpc_cidr: 10.0.0.0/16", "vpc_cidr: 172.17.0.0/16"))
    result = slurmpod("expand", file, "--json")
    assert result.code == ExitCode.OK
    assert "warning" in result.err
    assert json.loads(result.out)


# render


def test_render_lists_the_files_of_the_bundle(
    slurmpod: Callable[..., Result], sound_file: Path
) -> None:
    result = slurmpod("render", sound_file)
    assert result.code == ExitCode.OK
    assert "  settings.json  (completed when deployed)\n" in result.out
    assert "  on_create.sh\n" in result.out
    data = json.loads(slurmpod("render", sound_file, "--json").out)
    assert result.out.startswith(f"{data['prefix']}/\n")
    assert set(data["deploy_time_files"]) <= set(data["files"])


def test_render_writes_the_files_and_can_be_repeated(
    slurmpod: Callable[..., Result], sound_file: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out" / "bundle"
    for _ in range(2):
        result = slurmpod("render", sound_file, "--out", folder, "--json")
        files = json.loads(result.out)["files"]
        written = {
            path.relative_to(folder).as_posix(): path.stat().st_size
            for path in folder.rglob("*")
            if path.is_file()
        }
        assert written == files


def test_render_does_not_mix_its_files_with_others(
    slurmpod: Callable[..., Result], sound_file: Path, tmp_path: Path
) -> None:
    result = slurmpod("render", sound_file, "--out", tmp_path)
    assert result.code == ExitCode.USAGE
    assert "dev.yaml" in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["dev.yaml"]


# schema


def test_the_schema_beside_the_environments_is_fresh(
    slurmpod: Callable[..., Result], update_golden: bool
) -> None:
    result = slurmpod("schema")
    assert_matches(ROOT / "environments" / "schema.json", result.out, update=update_golden)


def test_a_stale_schema_is_found_and_refreshed(
    slurmpod: Callable[..., Result], tmp_path: Path
) -> None:
    file = tmp_path / "schema.json"
    assert slurmpod("schema", "--check", file).code == ExitCode.FAILED
    file.write_text("{}")
    stale = slurmpod("schema", "--check", file)
    assert (stale.code, str(file) in stale.err) == (ExitCode.FAILED, True)
    assert slurmpod("schema", "--write", file).code == ExitCode.OK
    assert slurmpod("schema", "--check", file) == (ExitCode.OK, "", "")


# explain


def test_explain_prints_all_facts_of_a_rule(slurmpod: Callable[..., Result]) -> None:
    text = slurmpod("explain", "net-006").out
    facts = json.loads(slurmpod("explain", "NET-006", "--json").out)
    assert text.startswith("NET-006 (error): The private subnet has an address for every")
    for name in ("why", "fix", "source"):
        assert facts[name] in " ".join(text.split())


def test_explain_lists_all_rules(slurmpod: Callable[..., Result]) -> None:
    lines = slurmpod("explain").out.splitlines()
    everything = json.loads(slurmpod("explain", "--json").out)
    assert [line.split()[0] for line in lines] == [rule["id"] for rule in everything]


def test_explain_knows_the_rules_for_batch_scripts(slurmpod: Callable[..., Result]) -> None:
    assert slurmpod("explain", "job-005").out.startswith("JOB-005 (warning): Each job has its own ")


def test_explain_guesses_a_mistyped_rule(slurmpod: Callable[..., Result]) -> None:
    result = slurmpod("explain", "NET-06")
    assert (result.code, result.out) == (ExitCode.USAGE, "")
    assert "did you mean 'NET-006'?" in result.err


# start-up

CHECK_IMPORTS = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise AssertionError(f"validate imports {name}")

BLOCKED = {"aws_cdk", "boto3", "botocore", "jinja2", "jsii", "moto", "rich", "slurmpod_cdk"}
BLOCKED |= {"tree_sitter", "tree_sitter_bash"}
sys.meta_path.insert(0, Blocker())
from slurmpod.cli import startup
from slurmpod.cli.main import run
early = {"pydantic", "yaml"} & set(sys.modules)  # before start-up is prepared
startup.prepare()
code = run(["validate", *sys.argv[1:]])
slow = {"importlib.metadata", "difflib", "shutil", "json"}
slow |= {"slurmpod.problem_text", "embedded_aws.iam"}
print("slow imports:", sorted(early | slow & set(sys.modules)))
sys.exit(code)
"""


def imports_of_validate(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CHECK_IMPORTS, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_validate_imports_nothing_slow_for_a_sound_file() -> None:
    result = imports_of_validate(["environments/dev.yaml"])
    assert (result.returncode, result.stdout.splitlines()[-1]) == (ExitCode.OK, "slow imports: []")


def test_validate_never_imports_the_cdk_or_aws_even_for_mistakes(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(sound_with("role: worker", "role: wroker").replace("cpu", "dev"))
    for options in ([], ["--json"]):
        result = imports_of_validate([str(file), "environments", *options])
        assert result.returncode == ExitCode.INVALID
        assert "AssertionError" not in result.stderr
