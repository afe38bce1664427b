"""What HyperPod does with other services, when several of its nodes do so at once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from slurmpod.aws.gateway import Gateway


class Logs:
    """CloudWatch Logs that refuses with a class that nobody else knows, as botocore may."""

    def __init__(self, code: str) -> None:
        self._code = code
        self.created: list[str] = []

    def create_log_group(self, **_: str) -> None:
        raise type(self._code, (ClientError,), {})(
            {"Error": {"Code": self._code}}, "CreateLogGroup"
        )

    def create_log_stream(self, **asked: str) -> None:
        self.created.append(asked["logStreamName"])


def gateway(logs: Logs) -> Gateway:
    clients: Any = SimpleNamespace(logs=logs)
    return Gateway(clients)


def test_a_log_group_that_another_node_has_just_made_is_kept() -> None:
    logs = Logs("ResourceAlreadyExistsException")
    gateway(logs).create_log_stream("cluster", "node")
    assert logs.created == ["node"]


def test_another_refusal_is_told() -> None:
    logs = Logs("AccessDeniedException")
    with pytest.raises(ClientError, match="AccessDenied"):
        gateway(logs).create_log_stream("cluster", "node")
    assert logs.created == []
