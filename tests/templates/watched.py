"""Environments that are watched, for tests: the example with a key of its own, and variants."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from tests.templates.synthesis import (
    Resource,
    Synthesized,
    Template,
    example_text,
    of_type,
    resolved_from,
    synthesize,
)

ALARM = "AWS::CloudWatch::Alarm"
RULE = "AWS::Events::Rule"
TOPIC = "AWS::SNS::Topic"
SEVERITIES = ("critical", "warning", "info")


@cache
def watched(*changes: tuple[str, str]) -> Synthesized:
    """Return the example, with slurmpod's own key; `changes` are texts and what takes their place.

    Each text has to be there.
    """
    text = re.sub(r"\n +kms_key_arn: [^\n]*", "", example_text("watched"))
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return synthesize(resolved_from(text))


def section(name: str) -> str:
    """Return a section of the example with its name, for leaving it out."""
    text = re.sub(r"\n +kms_key_arn: [^\n]*", "", example_text("watched"))
    found = re.search(rf"^{name}:\n(?:[ #].*\n|\n)*", text, re.MULTILINE)
    assert found
    return found[0]


def alarms(template: Template) -> dict[str, Resource]:
    """Return the properties of all alarms by logical id, without its hash."""
    return {
        logical_id[:-8]: resource["Properties"]
        for logical_id, resource in of_type(template, ALARM).items()
    }


def topics(template: Template) -> dict[str, str]:
    """Return the logical ids of topics by severity."""
    found = {}
    for logical_id, resource in of_type(template, TOPIC).items():
        found[resource["Properties"]["DisplayName"].split()[-1]] = logical_id
    return found


def statements(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {statement.get("Sid", ""): statement for statement in document["Statement"]}
