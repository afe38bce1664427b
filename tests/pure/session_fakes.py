"""Session Manager of an account that notes what it is asked, and a plugin that is a script."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from slurmpod.aws.session_plugin import NAME

VERSION = "1.2.764.0"
TOKEN = "nobody-sees-this-token"


class Ssm:
    """The client of SSM; `refusal` is the code with which it begins no session."""

    meta = SimpleNamespace(region_name="us-west-2", endpoint_url="https://ssm.example")

    def __init__(self, refusal: str = "") -> None:
        self._refusal = refusal
        self.asked: list[dict[str, Any]] = []
        self.terminated: list[str] = []

    def start_session(self, **asked: Any) -> dict[str, Any]:
        self.asked.append(asked)
        if self._refusal:
            raise ClientError(
                {"Error": {"Code": self._refusal, "Message": "not now"}}, "StartSession"
            )
        id_ = f"me-{len(self.asked)}"
        return {"SessionId": id_, "TokenValue": TOKEN, "StreamUrl": "wss://x", "More": object()}

    def terminate_session(self, SessionId: str) -> None:  # noqa: N803
        self.terminated.append(SessionId)

    def clients(self) -> Any:
        """Return it as the only client of an account."""
        return SimpleNamespace(ssm=self)


def put_plugin(
    folder: Path, monkeypatch: pytest.MonkeyPatch, script: str, version: str = VERSION
) -> None:
    """Let the shell find a plugin that does what a script of sh says."""
    plugin = folder / "bin" / NAME
    plugin.parent.mkdir()
    plugin.write_text(f'#!/bin/sh\n[ "$1" != --version ] || exec echo {version}\n{script}\n')
    plugin.chmod(0o755)
    monkeypatch.setenv("PATH", f"{plugin.parent}:/usr/bin:/bin")
