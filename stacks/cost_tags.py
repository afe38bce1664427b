"""Tags on what the CDK itself leaves without."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

from aws_cdk import CfnResource, Stack, TagManager, Tags

GENERIC_TYPES = frozenset({"AWS::IAM::Role", "AWS::Lambda::Function"})
"""What the CDK's functions for custom resources consist of: generic resources, which its own
tagging passes over."""


def tag_everything(stack: Stack, tags: Mapping[str, str]) -> None:
    """Give every resource of `stack` that can carry tags the given ones: bills are read by them.

    To be called once all constructs are there.
    """
    for key, value in tags.items():
        Tags.of(stack).add(key, value)
    listed = [{"Key": key, "Value": value} for key, value in sorted(tags.items())]
    for construct in stack.node.find_all():
        if _is_passed_over(construct):
            construct.add_property_override("Tags", listed)


def _is_passed_over(construct: object) -> TypeGuard[CfnResource]:
    return (
        isinstance(construct, CfnResource)
        and construct.cfn_resource_type in GENERIC_TYPES
        and not TagManager.is_taggable(construct)
    )
