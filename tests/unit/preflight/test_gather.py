"""Questions that AWS refuses in ways that an embedded one does not."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from slurmpod.preflight.gather import gather
from slurmpod.preflight.judge import judge
from tests.unit.preflight.test_judge import environment


def refusing(code: str) -> Any:
    def get_caller_identity() -> None:
        details: Any = {"Error": {"Code": code, "Message": "no"}}
        raise ClientError(details, "GetCallerIdentity")

    def describe_regions(AllRegions: bool) -> Any:  # noqa: N803
        return {"Regions": [{"RegionName": "us-west-2", "OptInStatus": "not-opted-in"}]}

    return SimpleNamespace(
        sts=SimpleNamespace(get_caller_identity=get_caller_identity),
        regions=SimpleNamespace(describe_regions=describe_regions),
    )


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("InvalidClientTokenId", ["PRE-001", "PRE-004"]),
        ("ExpiredToken", ["PRE-001"]),
    ],
)
def test_a_region_that_is_not_enabled_knows_no_credentials(code: str, expected: list[str]) -> None:
    sound = environment()
    facts = gather(refusing(code), sound.resolved, datetime(2026, 11, 23, tzinfo=UTC))
    assert sorted(each.rule for each in judge(sound, facts)) == expected
