"""What programs on a node learn from the instance metadata service, and how they have to ask."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from embedded_aws.cluster import NetworkInterface
from slurmpod.rehearsal.hyperpod.instance_metadata import (
    TOKEN,
    TOKEN_PATH,
    TTL,
    Instance,
    MetadataServer,
    answer,
    metadata_of,
)
from slurmpod.rehearsal.hyperpod.node_roles import NodeRole
from tests.pure.hyperpod.clusters import node

DOCUMENT = "dynamic/instance-identity/document"
NOW = datetime(2026, 11, 23, 20, 0, tzinfo=UTC)
ROLE = "arn:aws:iam::123456789012:role/path/nodes"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "ASIA1",
    "AWS_SECRET_ACCESS_KEY": "s3cret",
    "AWS_SESSION_TOKEN": "t0ken",
}


def instance(instance_type: str = "ml.p5.48xlarge") -> Instance:
    gateway: Any = None
    one = node("cpu", "10.0.0.4")
    one.instance_type = instance_type
    one.interface = NetworkInterface(
        "eni-1", "10.0.0.4", "", "subnet-1", "10.0.0.0/24", "us-west-2b", "usw2-az2", "vpc-1"
    )
    return Instance(one, ROLE, NodeRole(gateway, CREDENTIALS), "us-west-2")


def ask(path: str, instance_type: str = "ml.p5.48xlarge") -> str | None:
    return answer(metadata_of(instance(instance_type), NOW), path)


def identity(instance_type: str) -> dict[str, str]:
    document: dict[str, str] = json.loads(ask(DOCUMENT, instance_type) or "")
    return document


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("meta-data/instance-type", "p5.48xlarge"),
        ("meta-data/placement/region", "us-west-2"),
        ("meta-data/placement/availability-zone/", "us-west-2b"),
        ("meta-data/local-ipv4", "10.0.0.4"),
        ("meta-data/iam/security-credentials/", "nodes"),
        ("meta-data/placement", "availability-zone\navailability-zone-id\nregion"),
        ("meta-data/tags/instance", None),
        ("meta-data/place", None),
    ],
)
def test_values_and_folders(path: str, value: str | None) -> None:
    assert ask(path) == value


def test_tags_are_there_where_the_instance_has_them() -> None:
    tagged = replace(instance(), tags={"team": "vision", "sagemaker:note": "a b"})
    metadata = metadata_of(tagged, NOW)
    assert answer(metadata, "meta-data/tags/instance/") == "team\nsagemaker:note"
    assert answer(metadata, "meta-data/tags/instance/team") == "vision"


def test_the_identity_document_names_the_instance() -> None:
    document = identity("ml.p5.48xlarge")
    assert document["instanceId"] == instance().node.instance_id == ask("meta-data/instance-id")
    assert (document["instanceType"], document["region"]) == ("p5.48xlarge", "us-west-2")
    assert document["architecture"] == "x86_64"
    assert identity("ml.c6g.large")["architecture"] == "arm64"


def test_the_role_has_credentials_that_are_still_good_for_hours() -> None:
    given = json.loads(ask("meta-data/iam/security-credentials/nodes") or "")
    assert (given["AccessKeyId"], given["Token"]) == ("ASIA1", "t0ken")
    assert given["Expiration"] == "2026-11-24T02:00:00Z"


@contextmanager
def serving(*, is_token_needed: bool = True) -> Iterator[int]:
    """Serve one instance at this computer's address, and yield the port."""
    listening = socket.create_server(("127.0.0.1", 0))
    known = {"127.0.0.1": instance()}
    with closing(MetadataServer(listening, known.get, is_token_needed=is_token_needed)):
        yield listening.getsockname()[1]


@pytest.fixture
def port() -> Iterator[int]:
    with serving() as port:
        yield port


def status(port: int, method: str, path: str, **headers: str) -> tuple[int, str]:
    with closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=named)
        response = connection.getresponse()
        return response.status, response.read().decode()


def test_only_who_has_a_token_is_answered(port: int) -> None:
    path = "/latest/meta-data/instance-type"
    assert status(port, "GET", path) == (401, "")
    assert status(port, "GET", path, **{TOKEN: "made-up"}) == (401, "")
    _, token = status(port, "PUT", TOKEN_PATH, **{TTL: "60"})
    assert status(port, "GET", path, **{TOKEN: token}) == (200, "p5.48xlarge")
    assert status(port, "GET", "/latest/meta-data/no", **{TOKEN: token}) == (404, "")


def test_a_profile_may_let_everybody_ask() -> None:
    with serving(is_token_needed=False) as port:
        assert status(port, "GET", "/latest/meta-data/instance-type") == (200, "p5.48xlarge")


@pytest.mark.parametrize("seconds", ["", "0", "21601", "long"])
def test_a_token_lasts_as_long_as_was_asked_for(port: int, seconds: str) -> None:
    assert status(port, "PUT", TOKEN_PATH, **{TTL: seconds}) == (400, "")
