"""The CreateCluster request that would be sent, held against the API's own model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.cluster_request import cluster_request
from slurmpod.rules.neutral_references import neutral_references
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.request_places import place_of
from slurmpod.service_model import CREATE_CLUSTER_INPUT, create_cluster_shapes, violations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved

REQUEST = Area("REQ", "The request to HyperPod")

JUDGED_ELSEWHERE = frozenset({"ClusterInstanceType"})
"""Shapes of which other rules say more: HyperPod gets new types more often than slurmpod does."""


@REQUEST.rule(
    "REQ-001",
    "CreateCluster accepts the request",
    why="The request that the deployment would send is checked against the model that AWS "
    "publishes of this API: types, lengths, ranges, patterns and allowed values.",
    fix="write a value that CreateCluster accepts",
    source="https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_CreateCluster.html",
)
def _is_accepted(_: Environment, resolved: Resolved) -> Iterator[Finding]:
    request = cluster_request(resolved, neutral_references(resolved))
    for violation in violations(create_cluster_shapes(), CREATE_CLUSTER_INPUT, request):
        if violation.shape in JUDGED_ELSEWHERE:
            continue
        member = next(part for part in reversed(violation.path) if isinstance(part, str))
        constraint = violation.constraint.removeprefix("Member ")
        shown = "nothing" if violation.value is None else repr(violation.value)
        message = f"CreateCluster takes no {shown} for {member}: it {constraint}"
        yield Finding(place_of(violation.path), message)
