"""Questions that AWS refuses in ways that an embedded one does not."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from slurmpod.preflight.check import check
from slurmpod.preflight.gather import answer, gather
from slurmpod.preflight.saved import from_file, to_json
from slurmpod.preflight.subjects.clusters import ALL_CLUSTERS, CLUSTERS, ClusterUse
from slurmpod.preflight.subjects.quotas import QUOTAS, Quota
from tests.pure.preflight.test_check import FACTS, environment


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
    assert sorted(each.rule for each in check(sound, facts)) == expected


def with_cluster(*groups: Any) -> Any:
    """Return clients of an account with one cluster more, of these groups."""
    described = {"ClusterName": "other", "ClusterStatus": "InService", "InstanceGroups": groups}
    pages = [{"ClusterSummaries": [{"ClusterName": "other"}]}]
    sagemaker = SimpleNamespace(
        get_paginator=lambda _: SimpleNamespace(paginate=lambda: pages),
        describe_cluster=lambda ClusterName: {**described, "ClusterName": ClusterName},  # noqa: N803
    )
    return SimpleNamespace(sagemaker=sagemaker)


def test_spot_nodes_of_other_clusters_take_up_the_quota_of_all_and_not_of_their_type() -> None:
    kind = {"InstanceType": "ml.m5.xlarge", "TargetCount": 3, "CurrentCount": 2}
    clients = with_cluster(
        {**kind, "CapacityRequirements": {"Spot": {}}},
        {**kind, "CapacityRequirements": {"OnDemand": {}}},
    )
    sound = environment()
    clusters = answer(CLUSTERS, clients, sound.resolved)
    assert clusters == (ClusterUse("other", "InService", {"ml.m5.xlarge": 3}, {}, spot=3),)
    quotas = (
        Quota("sagemaker", "L-1", "ml.m5.xlarge for cluster usage", 6),
        Quota("sagemaker", "L-2", ALL_CLUSTERS, 7),
    )
    problems = check(sound, replace(FACTS, answers={CLUSTERS: clusters, QUOTAS: quotas}))
    assert [each.rule for each in problems] == ["PRE-102"]
    assert problems[0].message.startswith(f"the quota '{ALL_CLUSTERS}' is 7; ")


def test_facts_that_were_saved_before_spot_was_told_apart_are_read(tmp_path: Path) -> None:
    facts = replace(FACTS, answers={CLUSTERS: (ClusterUse("other", "InService", {}, {}),)})
    file = tmp_path / "facts.json"
    saved = json.loads(to_json(facts))
    del saved["clusters"][0]["spot"]
    file.write_text(json.dumps(saved))
    assert from_file(file, environment().resolved) == facts
