from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from slurmpod.reading.read import read_as
from slurmpod.resolve import SessionNames, resolve, session_names, session_target
from slurmpod.resolve.network import SERVICES_OF_A_CLOSED_NETWORK
from slurmpod.resolve.sessions import INSTANCE_ID_PATTERN

TEXT = """\
name: NAME
account: "123456789012"
region: ap-southeast-2
network: {zone: apse2-az1}
cluster:
  groups:
    - {name: controller, role: controller, instance_type: ml.m5.large}
access: ACCESS
"""


def names_of(name: str = "dev", access: str = "{sessions: {record: s3}}") -> SessionNames:
    loaded = read_as("environment.yaml", TEXT.replace("NAME", name).replace("ACCESS", access))
    assert loaded.environment is not None, loaded.problems
    return session_names(resolve(loaded))


@pytest.mark.parametrize(
    ("record", "log_group", "bucket"),
    [
        ("cloudwatch", "/slurmpod/dev/sessions", None),
        ("s3", None, "slurmpod-dev-sessions-123456789012-ap-southeast-2"),
        ("none", None, None),
    ],
)
def test_records_have_one_place_or_none(
    record: str, log_group: str | None, bucket: str | None
) -> None:
    names = names_of(access=f"{{sessions: {{record: {record}}}}}")
    assert (names.log_group, names.bucket) == (log_group, bucket)


def test_without_sessions_nothing_is_recorded() -> None:
    names = names_of(access="{}")
    assert (names.log_group, names.bucket) == (None, None)


def test_names_of_the_longest_environment_are_short_enough() -> None:
    names = names_of("a" * 63)
    assert len(names.document) <= 128
    assert len(names.administrators_policy) <= 128
    assert len(names.users_policy) <= 128
    assert names.bucket is not None
    assert len(names.bucket) <= 63
    assert names.bucket != names_of("a" * 62).bucket


def test_hyperpod_nodes_of_the_account_cannot_read_the_bucket_by_its_name() -> None:
    """AmazonSageMakerClusterInstanceRolePolicy lets every node read buckets named sagemaker-*."""
    assert not str(names_of().bucket).startswith("sagemaker-")


@pytest.mark.parametrize(
    ("group", "matches"),
    [("login", True), ("login-gpu", False), ("login-i-0", False), ("controller", False)],
)
def test_a_target_pattern_is_for_one_group(group: str, matches: bool) -> None:
    pattern = session_target("abcde01234yz", "login", INSTANCE_ID_PATTERN)
    node = session_target("abcde01234yz", group, "i-0123456789abcdef0")
    assert fnmatchcase(node, pattern) is matches


def test_closed_networks_have_what_sessions_need() -> None:
    assert {"ssm", "ssmmessages", "kms", "logs"} <= set(SERVICES_OF_A_CLOSED_NETWORK)
