from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from aws_cdk import App, Stack, aws_s3

from stacks.nag import Finding, findings, review, uncovered, unused
from stacks.waivers import WAIVERS, Waiver

if TYPE_CHECKING:
    from tests.stacks.synthesis import Synthesized

BUCKET = "dev-lifecycle/Scripts/Bucket/Resource"
NO_LOGS = Finding(BUCKET, "AwsSolutions-S1", "", "no access logs")
WAIVED = Waiver("AwsSolutions-S1", "*-lifecycle/Scripts/Bucket/Resource", "a reason")


def test_every_finding_is_fixed_or_waived_and_every_waiver_needed(example: Synthesized) -> None:
    assert review(example.app) == ()


def test_an_uncovered_finding_is_reported(dev: Synthesized) -> None:
    without = tuple(waiver for waiver in WAIVERS if waiver.rule != "AwsSolutions-S1")
    (problem,) = review(dev.app, without)
    assert problem.startswith(f"{BUCKET}: AwsSolutions-S1: ")
    assert "stacks/waivers.py" in problem


def test_an_unused_waiver_is_reported(dev: Synthesized) -> None:
    stale = Waiver("AwsSolutions-S10", BUCKET, "TLS was not enforced")
    (problem,) = review(dev.app, (*WAIVERS, stale))
    assert problem.startswith(f"{BUCKET}: AwsSolutions-S10: waived without need")


def test_a_waiver_for_what_only_other_environments_have_is_not_unused() -> None:
    other = replace(WAIVED, path="*-observability/Bucket/Resource")
    assert unused((WAIVED, other), (NO_LOGS,), (BUCKET,)) == ()


def test_every_waiver_serves_an_environment_of_this_repository(
    examples: dict[str, Synthesized],
) -> None:
    found = tuple(finding for example in examples.values() for finding in findings(example.app))
    idle = [w for w in WAIVERS if len(uncovered(found, (w,))) == len(found)]
    assert idle == []


@pytest.mark.parametrize(
    ("detail", "is_covered"),
    [("Resource::*", True), ("Resource::arn:aws:s3:::bucket/*", False), ("", False)],
)
def test_a_literal_star_is_no_wildcard(detail: str, is_covered: bool) -> None:
    finding = Finding("dev-identity/Role/Resource", "AwsSolutions-IAM5", detail, "")
    waiver = Waiver("AwsSolutions-IAM5", "*-identity/Role/Resource", "a reason", "Resource::[*]")
    assert (uncovered((finding,), (waiver,)) == ()) is is_covered


@pytest.mark.parametrize(
    "path",
    ["dev-lifecycle/Other/Bucket/Resource", "dev-lifecycle/Scripts/Bucket/Policy/Resource"],
)
def test_a_waiver_covers_no_other_construct(path: str) -> None:
    assert uncovered((replace(NO_LOGS, path=path),), (WAIVED,)) != ()


def test_every_waiver_says_why() -> None:
    assert all(len(waiver.reason.split()) >= 8 for waiver in WAIVERS)


def test_findings_name_construct_rule_and_detail() -> None:
    app = App()
    aws_s3.Bucket(Stack(app, "s"), "Bucket", enforce_ssl=True)
    (finding,) = findings(app)
    assert (finding.path, finding.rule, finding.detail) == (
        "s/Bucket/Resource",
        "AwsSolutions-S1",
        "",
    )
    assert finding.description
