from __future__ import annotations

from dataclasses import replace

import pytest
from aws_cdk import App, Stack, aws_s3

from slurmpod_cdk.build import build_app
from slurmpod_cdk.nag.review import NagFinding, findings, review, uncovered, unused
from slurmpod_cdk.nag.table import ALL_WAIVERS
from slurmpod_cdk.nag.waiver import Waiver
from tests.served import ENDPOINT, served
from tests.sound_environment import SOUND
from tests.templates.synthesis import CONTEXT, Synthesized, resolved_from, synthesize

BUCKET = "dev-lifecycle/Scripts/Bucket/Resource"
NO_LOGS = NagFinding(BUCKET, "AwsSolutions-S1", "", "no access logs")
WAIVED = Waiver("AwsSolutions-S1", "*-lifecycle/Scripts/Bucket/Resource", "a reason")
TWO_ZONES = "network:\n  other_zones: [{zone: us-west-2a}]\n"
SMALL_DATABASE = SOUND.replace("network:\n", TWO_ZONES, 1) + "slurm: {rds: {on_delete: delete}}\n"
"""Without what the example has, which leaves no finding about standby, key and protection."""

OPEN_SERVICES = {
    "endpoint": ENDPOINT | {"model_data": "s3://models/gpt-j/"},
    "notebook": {"instance_type": "ml.t3.medium", "direct_internet": True},
}
"""A model in a folder, keys of AWS's own and a way to the internet, which the example lacks."""


def test_every_finding_is_fixed_or_waived_and_every_waiver_needed(environment: Synthesized) -> None:
    assert review(environment.app) == ()


def test_an_uncovered_finding_is_reported(dev: Synthesized) -> None:
    without = tuple(waiver for waiver in ALL_WAIVERS if waiver.rule != "AwsSolutions-S1")
    (problem,) = review(dev.app, without)
    assert problem.startswith(f"{BUCKET}: AwsSolutions-S1: ")
    assert "stacks/nag" in problem


def test_an_unused_waiver_is_reported(dev: Synthesized) -> None:
    stale = Waiver("AwsSolutions-S10", BUCKET, "TLS was not enforced")
    (problem,) = review(dev.app, (*ALL_WAIVERS, stale))
    assert problem.startswith(f"{BUCKET}: AwsSolutions-S10: unnecessary waiver")


@pytest.mark.parametrize("condition", [{"without": BUCKET}, {"beside": "*-observability/Bucket"}])
def test_a_waiver_accepts_nothing_where_its_condition_does_not_hold(
    dev: Synthesized, condition: dict[str, str]
) -> None:
    waivers = [
        replace(waiver, **condition) if waiver.rule == "AwsSolutions-S1" else waiver
        for waiver in ALL_WAIVERS
    ]
    (problem,) = review(dev.app, waivers)
    assert problem.startswith(f"{BUCKET}: AwsSolutions-S1: ")


def test_each_environment_of_an_app_is_judged_alone(dev: Synthesized) -> None:
    prod = resolved_from(SOUND.replace("name: dev", "name: prod"))
    app = build_app([dev.resolved, prod], context=CONTEXT)
    waivers = [
        replace(waiver, beside="dev-*") if waiver.rule == "AwsSolutions-S1" else waiver
        for waiver in ALL_WAIVERS
    ]
    (problem,) = review(app, waivers)
    assert problem.startswith("prod-lifecycle/Scripts/Bucket/Resource: AwsSolutions-S1: ")


def test_what_is_in_no_environment_is_judged_too() -> None:
    app = App()
    aws_s3.Bucket(Stack(app, "s"), "Bucket", enforce_ssl=True)
    assert any("s/Bucket/Resource: AwsSolutions-S1: " in problem for problem in review(app))


def test_a_waiver_for_what_only_other_environments_have_is_not_unused() -> None:
    other = replace(WAIVED, path="*-observability/Bucket/Resource")
    assert unused((WAIVED, other), (NO_LOGS,), (BUCKET,)) == ()


def test_every_waiver_serves_an_environment_of_this_repository(
    environments: dict[str, Synthesized],
) -> None:
    others = (resolved_from(SMALL_DATABASE), served(OPEN_SERVICES))
    used = (*environments.values(), *map(synthesize, others))
    found = tuple(finding for each in used for finding in findings(each.app))
    idle = [w for w in ALL_WAIVERS if len(uncovered(found, (w,))) == len(found)]
    assert idle == []


@pytest.mark.parametrize(
    ("detail", "is_covered"),
    [("Resource::*", True), ("Resource::arn:aws:s3:::bucket/*", False), ("", False)],
)
def test_a_literal_star_is_no_wildcard(detail: str, is_covered: bool) -> None:
    finding = NagFinding("dev-identity/Role/Resource", "AwsSolutions-IAM5", detail, "")
    waiver = Waiver("AwsSolutions-IAM5", "*-identity/Role/Resource", "a reason", "Resource::[*]")
    assert (uncovered((finding,), (waiver,)) == ()) is is_covered


@pytest.mark.parametrize(
    "path",
    ["dev-lifecycle/Other/Bucket/Resource", "dev-lifecycle/Scripts/Bucket/Policy/Resource"],
)
def test_a_waiver_covers_no_other_construct(path: str) -> None:
    assert uncovered((replace(NO_LOGS, path=path),), (WAIVED,)) != ()


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("identity/Execution/Role", "ec2:us-west-2:*:network-interface/*"),
        ("identity/Execution/Role", "ec2:*:123456789012:network-interface/*"),
        ("identity/Execution/Role", "logs:us-west-2:123456789012:log-group:*"),
        ("identity/Execution/Role", "logs:*:*:log-group:/aws/sagemaker/Clusters/dev/*"),
        (
            "identity/Execution/Role",
            "logs:us-west-2:123456789012:log-group:/aws/sagemaker/Clusters/*/*",
        ),
        ("identity/Execution/Role", "s3:::*/lifecycle/*"),
        ("identity/Execution/Buckets", "s3:::*"),
        ("identity/Execution/DataBuckets", "s3:::*/*"),
        ("access/Administrators", "logs:us-west-2:123456789012:log-group:*:*"),
        ("access/Users", "ssm:us-west-2:*:session/*"),
    ],
)
def test_no_waiver_covers_what_belongs_to_everybody(path: str, detail: str) -> None:
    finding = NagFinding(
        f"dev-{path}/Resource", "AwsSolutions-IAM5", f"Resource::arn:aws:{detail}", ""
    )
    assert uncovered((finding,), ALL_WAIVERS) == (finding,)


def test_every_waiver_says_why() -> None:
    assert all(len(waiver.reason.split()) >= 8 for waiver in ALL_WAIVERS)


def test_a_waiver_may_hold_for_the_same_rule_of_several_packs() -> None:
    waiver = Waiver("*-IAMNoInlinePolicy", "*-identity/Role/Resource", "a reason")
    rules = ("HIPAA.Security-IAMNoInlinePolicy", "PCI.DSS.321-IAMNoInlinePolicy")
    found = [NagFinding("dev-identity/Role/Resource", rule, "", "") for rule in rules]
    assert uncovered(found, (waiver,)) == ()
    other = NagFinding("dev-identity/Role/Resource", "PCI.DSS.321-IAMUserMFA", "", "")
    assert uncovered([other], (waiver,)) == (other,)


def test_findings_of_every_pack_name_construct_and_rule() -> None:
    app = App()
    aws_s3.Bucket(Stack(app, "s"), "Bucket", enforce_ssl=True)
    found = findings(app)
    assert {finding.path for finding in found} == {"s/Bucket/Resource"}
    rules = {finding.rule for finding in found}
    assert {
        "AwsSolutions-S1",
        "HIPAA.Security-S3BucketLoggingEnabled",
        "NIST.800.53.R5-S3BucketLoggingEnabled",
        "PCI.DSS.321-S3BucketLoggingEnabled",
    } <= rules
    assert all(finding.description for finding in found)
