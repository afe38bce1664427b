"""The line of a script at which lifecycle scripts failed, from what they printed."""

from __future__ import annotations

from slurmpod.rehearsal.failed_line import Place, failed_line

START = """\
#!/bin/bash
set -ex
LOG=/var/log/provision/provisioning.log

main() {
    echo "Installing..." | tee -a $LOG
    if ! command -v jq; then
        apt-get install -y \\
            jq "$EXTRA"
    fi
}
main
exit_code=$?
exit $exit_code
"""
SETUP = """\
import subprocess


def run(script):
    subprocess.run(["sudo", "bash", script], check=True)


run("./utils/docker.sh")
"""
DOCKER = """\
#!/bin/bash
set -e
curl -fsSL https://example.com/key | gpg --dearmor
apt-get install -y docker-ce
"""
FILES = {
    "on_create.sh": START.encode(),
    "setup.py": SETUP.encode(),
    "utils/docker.sh": DOCKER.encode(),
    "utils/other.sh": b"#!/bin/sh\napt-get update\nmain\n",
    "tool": bytes(range(256)),
}
FOLDER = "/tmp/sagemaker-x/lifecycle/83a8"  # noqa: S108


def place(output: str) -> tuple[str, int] | None:
    found = failed_line(output, FILES)
    return (found.file, found.line) if found else None


def test_the_command_that_was_traced_last() -> None:
    output = "+ main\n+ echo Installing...\nInstalling...\n++ command -v jq\n"
    found = failed_line(f"{output}+ apt-get install -y jq 'with two words'\nE: no\n", FILES)
    assert found == Place("on_create.sh", 8, 'apt-get install -y jq "$EXTRA"')
    assert str(found) == 'at on_create.sh:8: apt-get install -y jq "$EXTRA"'


def test_what_only_passes_a_failure_on_is_not_its_place() -> None:
    assert place("+ apt-get install -y jq x\n+ exit_code=100\n+ exit 100\n") == ("on_create.sh", 8)


def test_an_exit_is_the_place_where_nothing_was_traced_before() -> None:
    assert place("+ exit 100\n") == ("on_create.sh", 14)


def test_a_command_of_several_files_belongs_to_the_one_whose_commands_came_before() -> None:
    assert place("+ apt-get update\n+ main\n") == ("utils/other.sh", 3)
    assert place("+ LOG=/x\n+ tee -a /var/log/x\n+ main\n") == ("on_create.sh", 12)


def test_an_error_of_a_shell_has_its_line() -> None:
    assert place(f"{FOLDER}/on_create.sh: line 7: jq: command not found\nbye\n") == (
        "on_create.sh",
        7,
    )
    assert place("./utils/other.sh: 2: apt-get: not found\n") == ("utils/other.sh", 2)


def traceback(said: str, library: str = "") -> str:
    frames = "".join(
        f'  File "{FOLDER}/setup.py", line {line}, in {name}\n    run()\n'
        for line, name in ((8, "<module>"), (5, "run"))
    )
    return f"Traceback (most recent call last):\n{frames}{library}{said}\n"


def test_a_traceback_leads_to_the_innermost_line_of_the_scripts_own() -> None:
    library = '  File "/usr/lib/python3.10/subprocess.py", line 526, in run\n    raise\n'
    assert place(traceback("FileNotFoundError: sudo", library)) == ("setup.py", 5)


FAILED = "subprocess.CalledProcessError: Command '['sudo', 'bash', './utils/docker.sh']' returned 1"


def test_behind_a_failed_command_of_python_is_the_script_that_it_ran() -> None:
    traced = (
        "+ curl -fsSL https://example.com/key\n+ gpg --dearmor\n+ apt-get install -y docker-ce\n"
    )
    assert place(f"{traced}{traceback(FAILED)}") == ("utils/docker.sh", 4)


def test_texts_tell_where_nothing_else_does() -> None:
    files = {"start.sh": b'#!/bin/sh\nx\necho "FAILED: no license on $(hostname)" >&2\nexit 7\n'}
    found = failed_line("preparing\nFAILED: no license on ip-10-0-0-4\n", files)
    assert str(found).startswith("at start.sh:3: echo")
    after = failed_line("preparing\nFAILED: no license on ip-10-0-0-4\nKilled\n", files)
    assert str(after).startswith("after start.sh:3: echo")


def test_output_that_tells_nothing_leads_nowhere() -> None:
    assert place("") is None
    assert place("Killed\n") is None
    assert place("+ something else\n") is None
