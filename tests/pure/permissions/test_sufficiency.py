"""Policies of others, held against what nodes need: what is surely lacking is told, no more."""

from __future__ import annotations

from typing import Any

import pytest

from embedded_aws.iam import Policy, policy_of
from slurmpod.environment.cluster import Role
from slurmpod.permissions import document, expected_scope, grants
from slurmpod.permissions.sufficiency import Lack, lacking
from tests.pure.permissions.test_registry import FULL, resolved

ALL = {"Effect": "Allow", "Action": "*", "Resource": "*"}


def policy(*statements: dict[str, Any]) -> Policy:
    return policy_of("boundary", {"Version": "2012-10-17", "Statement": list(statements)})


def lacks(*policies: Policy, text: str = FULL) -> list[Lack]:
    environment = resolved(text)
    needed = grants(expected_scope(environment, tuple(Role)))
    return list(lacking(needed, policies, environment))


def denied(action: str, resource: str = "*", **more: Any) -> list[Lack]:
    """Return what is lacking where all but one thing is allowed."""
    return lacks(policy(ALL, {"Effect": "Deny", "Action": action, "Resource": resource, **more}))


def test_what_is_printed_suffices() -> None:
    environment = resolved()
    needed = grants(expected_scope(environment, tuple(Role)))
    assert lacks(policy_of("printed", document(needed))) == []


def test_everything_suffices_and_nothing_does_not() -> None:
    assert lacks(policy(ALL)) == []
    everything = {grant.sid for grant in grants(expected_scope(resolved(), tuple(Role)))}
    assert {lack.grant.sid for lack in lacks(policy())} == everything


def test_a_lack_says_which_action_on_what_and_why() -> None:
    (lack,) = denied("ec2:CreateTags")
    assert lack.action == "ec2:CreateTags"
    assert lack.resources == ("arn:aws:ec2:us-west-2:123456789012:network-interface/*",)
    assert lack.because == "denied by statement number 2 of boundary"
    assert "HyperPod" in lack.grant.permission.needed_by


def test_only_the_resources_that_are_denied_are_named() -> None:
    (lack,) = denied("ec2:CreateNetworkInterface", "arn:aws:ec2:*:*:subnet/*")
    assert lack.resources == ("arn:aws:ec2:us-west-2:123456789012:subnet/*",)


def test_part_of_the_objects_is_not_all_of_them() -> None:
    mine = "arn:aws:s3:::sagemaker-dev-123456789012-us-west-2/lifecycle/abc/*"
    no_scripts = {"Effect": "Allow", "NotAction": "s3:GetObject", "Resource": "*"}
    some = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": mine}
    assert "GetLifecycleScripts" in {lack.grant.sid for lack in lacks(policy(no_scripts, some))}


def test_ids_that_nobody_knows_yet_may_be_those_that_a_policy_names() -> None:
    named = {
        "Effect": "Allow",
        "Action": "ec2:CreateNetworkInterface",
        "Resource": [
            "arn:aws:ec2:*:*:network-interface/*",
            "arn:aws:ec2:us-west-2:123456789012:subnet/subnet-0123",
            "arn:aws:ec2:us-west-2:123456789012:security-group/sg-0123",
        ],
    }
    rest = {"Effect": "Allow", "NotAction": "ec2:CreateNetworkInterface", "Resource": "*"}
    assert lacks(policy(rest, named)) == []
    elsewhere = {**named, "Resource": ["arn:aws:ec2:*:*:subnet/subnet-0123"]}
    (lack,) = lacks(policy(rest, elsewhere))
    assert "arn:aws:ec2:us-west-2:123456789012:network-interface/*" in lack.resources


@pytest.mark.parametrize("effect", ["Allow", "Deny"])
def test_circumstances_that_nobody_knows_are_as_they_must_be(effect: str) -> None:
    condition = {
        "StringNotEquals": {"aws:SourceVpc": "vpc-1"},
        "Null": {"aws:MultiFactor": "false"},
    }
    uncertain = {**ALL, "Effect": effect, "Condition": condition}
    assert lacks(policy(uncertain, *([ALL] if effect == "Deny" else []))) == []


def test_circumstances_that_are_known_count() -> None:
    for key, other in (("aws:RequestedRegion", "eu-west-1"), ("aws:PrincipalAccount", "1")):
        assert lacks(policy({**ALL, "Condition": {"StringEquals": {key: other}}}))
        assert denied("*", Condition={"StringNotEquals": {key: other}})


def test_the_conditions_of_a_grant_are_met() -> None:
    only = {"StringEquals": {"cloudwatch:namespace": "/aws/sagemaker/Clusters"}}
    metrics = {**ALL, "Action": "cloudwatch:PutMetricData", "Condition": only}
    rest = {"Effect": "Allow", "NotAction": "cloudwatch:PutMetricData", "Resource": "*"}
    assert lacks(policy(rest, metrics)) == []
    other = {**metrics, "Condition": {"StringEquals": {"cloudwatch:namespace": "Other"}}}
    assert [lack.action for lack in lacks(policy(rest, other))] == ["cloudwatch:PutMetricData"]


def test_listing_below_a_prefix_is_needed_for_all_of_it() -> None:
    rest = {"Effect": "Allow", "NotAction": "s3:ListBucket", "Resource": "*"}
    listing = {**ALL, "Action": "s3:ListBucket"}
    others = {**listing, "NotResource": "arn:aws:s3:::a-read-bucket"}
    del others["Resource"]
    below = {**listing, "Condition": {"StringLike": {"s3:prefix": ["in/*"]}}}
    assert lacks(policy(rest, others, below)) == []
    exactly = {**listing, "Condition": {"StringLike": {"s3:prefix": ["in/images/*"]}}}
    (lack,) = lacks(policy(rest, others, exactly))
    assert lack.resources == ("arn:aws:s3:::a-read-bucket",)
