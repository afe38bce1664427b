"""The program that runs one invocation of a Python function, with the input from `process`.

It imports nothing of this package, because the handler's folder comes first on its path. It exits
when its standard input closes, that is, when the process that started it is gone.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any


class Context:
    """The context object of a handler (Lambda developer guide, "Context object")."""

    def __init__(self, invocation: dict[str, Any]) -> None:
        self.aws_request_id = invocation["request_id"]
        self.function_name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]
        self.function_version = os.environ["AWS_LAMBDA_FUNCTION_VERSION"]
        self.memory_limit_in_mb = os.environ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"]
        self.invoked_function_arn = invocation["arn"]
        self.log_group_name = os.environ["AWS_LAMBDA_LOG_GROUP_NAME"]
        self.log_stream_name = os.environ["AWS_LAMBDA_LOG_STREAM_NAME"]
        self.identity = self.client_context = None
        self._ends_at = time.monotonic() + invocation["limit_s"]

    def get_remaining_time_in_millis(self) -> int:
        """Return the remaining time of the handler in milliseconds."""
        return max(0, int((self._ends_at - time.monotonic()) * 1000))


def main() -> None:
    """Call the handler with the event, and write its result or error to a file."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    folder = Path(sys.argv[1])
    invocation = json.loads((folder / "invocation.json").read_text(encoding="utf-8"))
    logging.basicConfig(level=logging.WARNING, format="[%(levelname)s]\t%(message)s")
    sys.path[0] = os.environ["LAMBDA_TASK_ROOT"]
    try:
        module, _, name = os.environ["_HANDLER"].rpartition(".")
        handler = getattr(importlib.import_module(module.replace("/", ".")), name)
        outcome = {"result": handler(invocation["event"], Context(invocation))}
        text = json.dumps(outcome)
    except BaseException as error:  # noqa: BLE001 - a handler may also end the process
        traceback.print_exc()
        failure = {"errorMessage": str(error), "errorType": type(error).__name__}
        text = json.dumps({"error": failure})
    (folder / "outcome.json").write_text(text, encoding="utf-8")


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


if __name__ == "__main__":
    main()
