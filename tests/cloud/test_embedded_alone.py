"""The embedded AWS by itself: the command and the fixture that its page prints."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import boto3
import pytest

from tests.golden_files import ROOT

PAGE = (ROOT / "docs" / "embedded-aws.md").read_text(encoding="utf-8")
USE = """

def test_a_stack_is_deployed(aws):
    template = '{"Resources": {"Queue": {"Type": "AWS::SQS::Queue"}}}'
    aws("cloudformation").create_stack(StackName="mine", TemplateBody=template)
    aws("cloudformation").get_waiter("stack_create_complete").wait(StackName="mine")
    assert aws("sqs").list_queues()["QueueUrls"]
"""


def snippet(language: str) -> str:
    """Return the page's one block of code in a language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return str(found)


def inherited() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "AWS_PROFILE": "somebody's real account"}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def test_the_fixture_works_as_printed(tmp_path: Path) -> None:
    fixture = snippet("python")
    assert len(fixture.splitlines()) <= 10 + fixture.count("\n\n")
    (tmp_path / "test_mine.py").write_text(fixture + USE)
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path],
        cwd=tmp_path,
        env=inherited(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "1 passed" in result.stdout, result.stdout + result.stderr


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def server(port: int) -> Iterator[subprocess.Popen[str]]:
    """Run the printed command, with a port that is free here."""
    program, *arguments = shlex.split(snippet("sh").replace("4599", str(port)))
    assert program == "python"
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env=inherited(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.communicate()


def printed(server: subprocess.Popen[str]) -> tuple[Mapping[str, str], list[str]]:
    """Return the variables to set and those to unset, once everything answers."""
    assert server.stdout is not None
    exports: dict[str, str] = {}
    unset: list[str] = []
    for line in server.stdout:
        if line.startswith("#"):
            return exports, unset
        if line.startswith("aws()"):
            continue
        (word, rest) = shlex.split(line)
        if word == "unset":
            unset.append(rest)
        else:
            name, _, value = rest.partition("=")
            exports[name] = value
    raise AssertionError("the server has ended")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_works_as_printed_and_ends_cleanly(
    server: subprocess.Popen[str], port: int, number: signal.Signals
) -> None:
    exports, unset = printed(server)
    assert "AWS_PROFILE" in unset
    assert exports["AWS_ENDPOINT_URL"] == f"http://127.0.0.1:{port}"
    client = boto3.Session(
        aws_access_key_id=exports["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=exports["AWS_SECRET_ACCESS_KEY"],
        region_name=exports["AWS_REGION"],
    ).client("sts", endpoint_url=exports["AWS_ENDPOINT_URL"])
    assert client.get_caller_identity()["Account"] == "111122223333"
    server.send_signal(number)
    rest, errors = server.communicate(timeout=60)
    assert (server.returncode, rest, errors) == (0, "", "")
    socket.create_server(("127.0.0.1", port)).close()


def test_it_ends_cleanly_while_its_services_still_load(server: subprocess.Popen[str]) -> None:
    printed(server)
    server.send_signal(signal.SIGTERM)
    rest, errors = server.communicate(timeout=60)
    assert (server.returncode, rest, errors) == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(["--account", "12"], "'12' is not 12 digits"), (["--port", "{taken}"], "is not free")],
)
def test_what_cannot_be_served_is_one_line(arguments: list[str], told: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = str(taken.getsockname()[1])
        given = [argument.replace("{taken}", number) for argument in arguments]
        result = subprocess.run(
            [sys.executable, "-m", "embedded_aws", *given],
            env=inherited(),
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert result.returncode != 0
    assert told in result.stderr
    assert "Traceback" not in result.stderr
