"""What the tests of the stacks share: environments synthesized as the CDK command line does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slurmpod.bundle import Bundle, render_bundle
from slurmpod.cli.environment import sound_environment
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved, resolve
from slurmpod_cdk.build import build_app
from tests.environment_files import FILES

if TYPE_CHECKING:
    from aws_cdk import App

ROOT = Path(__file__).parents[2]
CONTEXT: dict[str, Any] = json.loads((ROOT / "cdk.json").read_text())["context"]

Template = dict[str, Any]
Resource = dict[str, Any]


@dataclass(frozen=True)
class Synthesized:
    """One environment's app; `templates` and `stacks` (its manifest entries) go by short name."""

    resolved: Resolved
    rendered: Bundle | None
    app: App
    templates: Mapping[str, Template]
    stacks: Mapping[str, Any]

    @property
    def bundle(self) -> Bundle:
        """The bundle, which environments in managed mode do not have."""
        assert self.rendered is not None
        return self.rendered


def example_text(name: str) -> str:
    return FILES[name].read_text()


@cache
def synthesized_file(name: str) -> Synthesized:
    """Return one environment of this repository."""
    return synthesize(sound_environment(FILES[name]).resolved)


def resolved_from(text: str) -> Resolved:
    loaded = read_as("environment.yaml", text)
    assert loaded.environment is not None, loaded.problems
    return resolve(loaded)


def synthesize(resolved: Resolved, context: Mapping[str, Any] = CONTEXT) -> Synthesized:
    app = build_app([resolved], context=context)
    stacks = {stack.stack_name: stack for stack in app.synth().stacks}
    short = {name: name.removeprefix(f"{resolved.name}-") for name in stacks}
    return Synthesized(
        resolved=resolved,
        rendered=render_bundle(resolved),
        app=app,
        templates={short[name]: stack.template for name, stack in stacks.items()},
        stacks={short[name]: stack for name, stack in stacks.items()},
    )


def of_type(template: Template, resource_type: str) -> dict[str, Resource]:
    """Return the resources of one type by their logical id."""
    return {
        logical_id: resource
        for logical_id, resource in template["Resources"].items()
        if resource["Type"] == resource_type
    }


def only(template: Template, resource_type: str) -> Resource:
    """Return the properties of the one resource of a type."""
    (resource,) = of_type(template, resource_type).values()
    properties: Resource = resource["Properties"]
    return properties
