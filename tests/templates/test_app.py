"""What holds for the app as a whole."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from slurmpod_cdk.build import build_app
from slurmpod_cdk.nag.review import review
from tests.templates.synthesis import CONTEXT, ROOT, Synthesized, of_type, synthesized_file

RECOMMENDED = ROOT / "node_modules/aws-cdk/lib/init-templates/.recommended-feature-flags.json"

STATEFUL_IDS = {
    ("network", "AWS::EC2::VPC"): {"NetworkVpc7FB7348F"},
    ("network", "AWS::EC2::Subnet"): {
        "NetworkVpcPrivateSubnet1Subnet6DD86AE6",
        "NetworkVpcPublicSubnet1Subnet36933139",
    },
    ("network", "AWS::EC2::SecurityGroup"): {"NodesGroup3A9CFCF5"},
    ("storage", "AWS::FSx::FileSystem"): {"LustreFileSystem4AFDAE78"},
    ("lifecycle", "AWS::S3::Bucket"): {"ScriptsBucketC04F7688"},
    ("cluster", "AWS::SageMaker::Cluster"): {"SlurmClusterB946DAE9"},
}
"""A changed logical id replaces the resource, and with it a network or users' data."""


def test_logical_ids_of_stateful_resources_are_frozen(example: Synthesized) -> None:
    assert {
        (stack, resource_type): set(of_type(example.templates[stack], resource_type))
        for stack, resource_type in STATEFUL_IDS
    } == STATEFUL_IDS


def test_stacks_are_deployed_in_order(example: Synthesized) -> None:
    names = example.resolved.stacks.in_order()
    needs = {
        stack.stack_name: {needed.id for needed in stack.dependencies}
        for stack in example.stacks.values()
    }
    for earlier, later in pairwise(names):
        assert earlier in needs[later]
        assert later not in needs[earlier]


def test_many_environments_in_one_app_have_the_templates_that_each_has_alone() -> None:
    alone = [synthesized_file(name) for name in ("dev", "watched", "closed-network", "managed")]
    together = build_app([each.resolved for each in alone], context=CONTEXT)
    assert review(together) == ()
    assert {stack.stack_name: stack.template for stack in together.synth().stacks} == {
        stack.stack_name: stack.template for each in alone for stack in each.stacks.values()
    }


def test_nothing_is_looked_up_in_an_account(example: Synthesized) -> None:
    manifest = json.loads((Path(example.app.outdir) / "manifest.json").read_text())
    assert "missing" not in manifest


@pytest.mark.skipif(not RECOMMENDED.exists(), reason="the CDK command line is not installed")
def test_every_feature_flag_of_the_command_line_is_set() -> None:
    """A new version brings new flags: each is a decision, seen in the golden templates."""
    assert json.loads(RECOMMENDED.read_text()).items() <= CONTEXT.items()


def test_stacks_go_to_the_account_and_region_of_the_environment(example: Synthesized) -> None:
    resolved = example.resolved
    places = {
        (stack.environment.account, stack.environment.region) for stack in example.stacks.values()
    }
    assert places == {(resolved.account, resolved.region)}


def test_an_unprotected_environment_can_be_destroyed(dev: Synthesized) -> None:
    assert not any(stack.termination_protection for stack in dev.stacks.values())


def test_no_stack_of_a_protected_environment_can_be_deleted_by_oversight(
    p5_prod: Synthesized,
) -> None:
    assert all(stack.termination_protection for stack in p5_prod.stacks.values())


def test_stacks_reference_each_other_weakly(example: Synthesized) -> None:
    text = json.dumps(example.templates)
    assert "Fn::GetStackOutput" in text
    assert "Fn::ImportValue" not in text
    assert '"Export"' not in text


def test_every_stack_says_what_it_is(example: Synthesized) -> None:
    assert all(template["Description"] for template in example.templates.values())


def test_stacks_and_taggable_resources_carry_the_tags(example: Synthesized) -> None:
    expected = dict(example.resolved.tags)
    assert all(expected.items() <= stack.tags.items() for stack in example.stacks.values())
    for stack, resource_type in STATEFUL_IDS:
        for resource in of_type(example.templates[stack], resource_type).values():
            tags = {tag["Key"]: tag["Value"] for tag in resource["Properties"]["Tags"]}
            assert expected.items() <= tags.items()


def test_templates_hold_nothing_about_who_synthesized_them(example: Synthesized) -> None:
    text = json.dumps(example.templates)
    assert "AWS::CDK::Metadata" not in text
    assert "aws:cdk:path" not in text
