"""Input transformers of EventBridge, as its user guide describes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from embedded_aws.event_delivery import transformed

EVENT: dict[str, Any] = {
    "time": "2026-06-01T17:20:25Z",
    "detail": {"ClusterName": "pod", "Counts": [1, 2], "Summary": {"Status": "Unhealthy"}},
}


def text(template: str, **paths: str) -> str:
    return transformed({"InputPathsMap": paths, "InputTemplate": template}, EVENT)


def test_without_a_transformer_the_target_gets_the_event() -> None:
    assert json.loads(transformed(None, EVENT)) == EVENT


@pytest.mark.parametrize(
    ("template", "paths", "expected"),
    [
        ('"<name> at <time>"', {"name": "$.detail.ClusterName", "time": "$.time"}, "pod at 2026"),
        ('"is <s>"', {"s": "$.detail.Summary.Status"}, "is Unhealthy"),
        ('"<counts>"', {"counts": "$.detail.Counts"}, "[1, 2]"),
        ('"why: <nothing>."', {"nothing": "$.detail.Missing.Reason"}, "why: ."),
        ('"<unknown>."', {}, '"."'),
        ('"one"\n"two <name>"', {"name": "$.detail.ClusterName"}, '"one"\n"two pod"'),
    ],
)
def test_variables_take_what_their_paths_lead_to(
    template: str, paths: dict[str, str], expected: str
) -> None:
    assert expected in text(template, **paths)
