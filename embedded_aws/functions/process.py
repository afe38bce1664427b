"""One invocation of a function: its code is unpacked into a folder and run in a separate process.

The environment points AWS tools to the embedded AWS, with credentials of the function's role; this
computer's Python or Node.js replaces the AWS runtime.
Source: Lambda developer guide, "Working with Lambda environment variables" and "Configuring a
function's timeout".
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from embedded_aws.isolation import isolated_environment

_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
_KEPT: Final = ("LANG", "LD_LIBRARY_PATH", "PATH", "SSL_CERT_FILE", "TZ", *_PROXIES)
"""Variables inherited from this process: a function may reach the internet, as in AWS."""


@dataclass(frozen=True)
class Invocation:
    """A function and the event to invoke it with.

    `code` and `layers` are zip archives; `variables` point to the embedded AWS and contain the
    role's credentials; `own_variables` are those of the function's configuration.
    """

    arn: str
    name: str
    version: str
    runtime: str
    handler: str
    limit_s: float
    memory_mib: int
    code: bytes
    layers: tuple[bytes, ...]
    variables: Mapping[str, str]
    own_variables: Mapping[str, str]
    request_id: str
    log_stream: str
    event: Any

    @property
    def log_group(self) -> str:
        """The log group of the function."""
        return f"/aws/lambda/{self.name}"


@dataclass(frozen=True)
class Outcome:
    """The result of an invocation: the JSON text for the caller, and the output."""

    payload: str
    is_error: bool
    log: str


def run(invocation: Invocation) -> Outcome:
    """Run a function until it ends or times out."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="function-") as folder:
        try:
            printed, outcome = _run_in(Path(folder), invocation)
        except _Ended as ended:
            printed, outcome = ended.printed, {"error": {"errorMessage": str(ended)}}
    error = outcome.get("error")
    reported = [error["errorMessage"]] if error else []
    duration_ms = (time.monotonic() - started) * 1000
    log = [
        f"START RequestId: {invocation.request_id} Version: {invocation.version}",
        *printed.splitlines(),
        *reported,
        f"END RequestId: {invocation.request_id}",
        f"REPORT RequestId: {invocation.request_id}\tDuration: {duration_ms:.2f} ms",
    ]
    return Outcome(json.dumps(error or outcome.get("result")), bool(error), "\n".join(log))


class _Ended(Exception):
    """A process did not complete; `printed` is its output so far."""

    def __init__(self, reason: str, printed: str = "") -> None:
        super().__init__(reason)
        self.printed = printed


def _run_in(folder: Path, invocation: Invocation) -> tuple[str, dict[str, Any]]:
    """Return the output and the result of the process; raises _Ended."""
    task, layers = folder / "task", folder / "opt"
    for root, archives in ((task, [invocation.code]), (layers, invocation.layers)):
        root.mkdir()
        for archive in archives:
            _unpack(archive, root)
    (folder / "invocation.json").write_text(
        json.dumps(
            {
                "arn": invocation.arn,
                "event": invocation.event,
                "limit_s": invocation.limit_s,
                "request_id": invocation.request_id,
            }
        ),
        encoding="utf-8",
    )
    with subprocess.Popen(
        [*_program(invocation.runtime), folder],
        cwd=task,
        env=_environment(invocation, task, layers),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        printed = _printed(process, invocation)
    try:
        return printed, json.loads((folder / "outcome.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise _Ended("Runtime exited without providing a reason", printed) from None


def _printed(process: subprocess.Popen[str], invocation: Invocation) -> str:
    """Wait for a process; its standard input stays open while this process lives."""
    stdin, process.stdin = process.stdin, None
    try:
        return process.communicate(timeout=invocation.limit_s)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        reason = f"Task timed out after {invocation.limit_s:.2f} seconds"
        raise _Ended(f"{invocation.request_id} {reason}", process.communicate()[0]) from None
    finally:
        if stdin is not None:
            stdin.close()


def _unpack(archive: bytes, folder: Path) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as zip_file:
            zip_file.extractall(folder)
    except zipfile.BadZipFile as error:
        raise _Ended(f"The code of the function is no zip archive: {error}") from error


def _program(runtime: str) -> list[str]:
    """Return the local command for a Lambda runtime."""
    if runtime.startswith("python"):
        return [sys.executable, str(files("embedded_aws.functions") / "runtime.py")]
    if not runtime.startswith("nodejs"):
        raise _Ended(
            f"Runtime {runtime} is not supported by the embedded AWS; it runs python and nodejs"
        )
    node = shutil.which("node")
    if node is None:
        raise _Ended(f"Runtime {runtime} needs Node.js, but there is no `node` on PATH")
    return [node, str(files("embedded_aws") / "data" / "runtime.js")]


def _environment(invocation: Invocation, task: Path, layers: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return isolated_environment(kept, invocation.variables) | {
        "AWS_EXECUTION_ENV": f"AWS_Lambda_{invocation.runtime}",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(invocation.memory_mib),
        "AWS_LAMBDA_FUNCTION_NAME": invocation.name,
        "AWS_LAMBDA_FUNCTION_VERSION": invocation.version,
        "AWS_LAMBDA_LOG_GROUP_NAME": invocation.log_group,
        "AWS_LAMBDA_LOG_STREAM_NAME": invocation.log_stream,
        "HOME": str(task),
        "LAMBDA_RUNTIME_DIR": str(layers),
        "LAMBDA_TASK_ROOT": str(task),
        "NODE_PATH": str(layers / "nodejs" / "node_modules"),
        "PYTHONPATH": str(layers / "python"),
        "PYTHONUNBUFFERED": "1",
        "_HANDLER": invocation.handler,
        **invocation.own_variables,
    }
