"""The environment as it was written when deployed, as texts for the parameter store, and back.

Defaults are left out, so that a version with more fields deploys the same record. Earlier versions
recorded them, which reads the same.

Of the files that an environment names, it holds enough to detect a later version: the people of the
file of users, and digests of everything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json, to_json

from slurmpod.environment.base import written
from slurmpod.environment.environment import Environment
from slurmpod.environment.identity import Identity
from slurmpod.reading.hooks import hook_path, named_hooks
from slurmpod.reading.policy_files import PolicyDocument
from slurmpod.resolve import Resolved, ResolvedLifecycle

CHARACTERS_PER_PART = 4096
"""Most that a standard parameter holds (Systems Manager user guide, parameter tiers)."""

FILES = "files"
"""Key beside those of the environment, which earlier versions did not write."""

CONTENT = "content "
DIGITS = 16
"""Hexadecimal digits of a digest: 64 bits tell versions apart, and thousands of people fit in."""


def record_folder(name: str) -> str:
    """Return the path prefix of an environment's parameters."""
    return f"/slurmpod/{name}/environment"


def record(resolved: Resolved) -> Mapping[str, str]:
    """Return the values of the parameters by their names; ASCII only, so that bytes count.

    No double braces in them: the parameter store refuses these, and CloudFormation would look up
    the text between them (dynamic references). In JSON they occur only inside strings.
    """
    data = {**written(resolved.environment), FILES: in_files(resolved)}
    text = to_json(data).decode()
    if not text.isascii():
        text = "".join(each if each.isascii() else _escaped(each) for each in text)
    text = text.replace("{{", "{\\u007b")
    return {
        f"{record_folder(resolved.name)}/{number:02}": text[first : first + CHARACTERS_PER_PART]
        for number, first in enumerate(range(0, len(text), CHARACTERS_PER_PART))
    }


def read_record(parameters: Mapping[str, str]) -> dict[str, Any]:
    """Reassemble the environment; raises ValueError if parts are missing or changed."""
    data = from_json("".join(value for _, value in sorted(parameters.items())))
    if not isinstance(data, dict):
        raise ValueError("the record of the environment is not a mapping")  # noqa: TRY004
    return data


def in_files(resolved: Resolved) -> dict[str, Any]:
    """Return the contents of the environment's files, at the paths of the fields that name them.

    The people of a file of users stand under `users`, with those of the environment. A file that
    could not be read is left out: rules ask about such environments, too.
    """
    has_users = resolved.environment.access.users_file is not None
    sections = {
        "lifecycle": _scripts(resolved.environment, resolved.lifecycle),
        "access": {"users": people(resolved), "users_file": None} if has_users else {},
        "identity": _policy_copies(resolved.identity, resolved.policies),
    }
    return {name: section for name, section in sections.items() if section}


def people(resolved: Resolved) -> list[dict[str, Any]]:
    """Return all users, wherever they are written, with digests in place of their SSH keys."""
    return [
        known.user.model_dump(mode="json", exclude_defaults=True)
        | {"ssh_keys": [digest(key.encode()) for key in known.user.ssh_keys]}
        for known in resolved.access.users
    ]


def digest(data: bytes) -> str:
    """Return a digest of a content, short enough to read."""
    import hashlib  # only needed if an environment names files or people

    return f"sha256:{hashlib.sha256(data).hexdigest()[:DIGITS]}"


def content(data: bytes) -> str:
    """Return the text that replaces a file's path where its content is compared."""
    return f"{CONTENT}{digest(data)}"


def is_content(value: Any) -> bool:
    """Return whether a value, or each item of a list, replaces a file's path."""
    texts = value if isinstance(value, list) else [value]
    return bool(texts) and all(str(each).startswith(CONTENT) for each in texts)


def _scripts(environment: Environment, lifecycle: ResolvedLifecycle) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if lifecycle.own_scripts:
        files = lifecycle.own_scripts.files
        found["scripts"] = content(to_json({name: digest(data) for name, data in files.items()}))
    for role, when, _ in named_hooks(environment):
        script = lifecycle.hooks.get(hook_path(role, when))
        if script is not None:
            found.setdefault("hooks", {}).setdefault(role, {})[when] = content(script.encode())
    return found


def _policy_copies(identity: Identity, policies: Mapping[str, PolicyDocument]) -> dict[str, Any]:
    contents = {path: content(to_json(document)) for path, document in policies.items()}
    found: dict[str, Any] = {}
    if identity.existing and identity.existing.policy_files:
        copies = [contents.get(path, path) for path in identity.existing.policy_files]
        found["existing"] = {"policy_files": copies}
    boundary = identity.permissions_boundary
    if boundary and boundary.policy_file in contents:
        found["permissions_boundary"] = {"policy_file": contents[boundary.policy_file]}
    return found


def _escaped(character: str) -> str:
    """Write a character as JSON does in ASCII: in units of UTF-16."""
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
