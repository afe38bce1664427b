"""The environment as it was deployed, as texts that the parameter store takes, and back. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.model.environment import Environment

CHARACTERS_PER_PART = 4096
"""Most that a standard parameter holds (Systems Manager user guide, parameter tiers)."""


def record_folder(name: str) -> str:
    """Return the path below which the parameters of an environment lie."""
    return f"/slurmpod/{name}/environment"


def record(environment: Environment) -> Mapping[str, str]:
    """Return the values of the parameters by their names; ASCII only, so that bytes count.

    No double braces in them: the parameter store refuses these, and CloudFormation would look up
    what stands between them (dynamic references). In JSON they can stand in texts only.
    """
    text = to_json(environment.model_dump(mode="json")).decode()
    text = "".join(each if each.isascii() else _escaped(each) for each in text)
    text = text.replace("{{", "{\\u007b")
    return {
        f"{record_folder(environment.name)}/{number:02}": text[first : first + CHARACTERS_PER_PART]
        for number, first in enumerate(range(0, len(text), CHARACTERS_PER_PART))
    }


def read_record(parameters: Mapping[str, str]) -> dict[str, Any]:
    """Put the environment together again; raises ValueError where parts are missing or changed."""
    data = from_json("".join(value for _, value in sorted(parameters.items())))
    if not isinstance(data, dict):
        raise ValueError("the record of the environment is not a mapping")  # noqa: TRY004
    return data


def _escaped(character: str) -> str:
    """Write a character as JSON does in ASCII: in units of UTF-16."""
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
