"""The text of a template, JSON or YAML with CloudFormation's short function names, as plain data.

Source: CloudFormation template reference, "Intrinsic function reference": every function has a
short form, `!Name`; `!Ref` and `!Condition` are the two whose full form has no `Fn::`.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any, Final

import yaml

_WITHOUT_PREFIX: Final = ("Condition", "Ref")


def read_document(body: str) -> object:
    """Return what a text says; raises ValueError, with the place, for what is neither."""
    try:
        return json.loads(body)
    except ValueError:
        pass
    try:
        return yaml.load(body, Loader=_Loader)  # noqa: S506 - a SafeLoader, see below
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


class _Loader(yaml.SafeLoader):
    """YAML without dates, which CloudFormation reads as text, and with short function names."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        """Construct a mapping whose keys are texts."""
        return {_key(key): item for key, item in super().construct_mapping(node, deep).items()}


def _key(key: Any) -> Hashable:
    """Spell a key as JSON has it: ids of accounts are written without quotation marks, too."""
    return key if isinstance(key, str) else json.dumps(key)


def _function(loader: _Loader, name: str, node: yaml.Node) -> dict[str, Any]:
    """Construct `!Name argument` as its full form."""
    if isinstance(node, yaml.ScalarNode):
        argument: Any = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        argument = loader.construct_sequence(node, deep=True)
    else:
        argument = loader.construct_mapping(node, deep=True)
    return {name if name in _WITHOUT_PREFIX else f"Fn::{name}": argument}


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_multi_constructor("!", _function)
