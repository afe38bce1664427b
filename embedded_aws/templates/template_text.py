"""Parsing of template text, JSON or YAML with CloudFormation's short function names.

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
    """Return the parsed text; raises ValueError, with the position, if it is invalid."""
    try:
        return json.loads(body)
    except ValueError:
        pass
    try:
        return yaml.load(body, Loader=_Loader)  # noqa: S506 - a SafeLoader, see below
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


class _Loader(yaml.SafeLoader):
    """YAML with short function names and without dates, which CloudFormation reads as text."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        """Construct a mapping with text keys."""
        return {_key(key): item for key, item in super().construct_mapping(node, deep).items()}


def _key(key: Any) -> Hashable:
    """Return a key as text, as in JSON: account ids may be written without quotation marks."""
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
