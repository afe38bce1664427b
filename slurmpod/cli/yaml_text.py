"""Values as YAML that reads back as the same values."""

from __future__ import annotations

import sys
from typing import Any

import yaml

OTHER_LINE_BREAKS = frozenset("\x85\u2028\u2029")
"""Line breaks in YAML 1.1 that PyYAML writes as they are, and reads as others or not at all."""


class _Dumper(yaml.SafeDumper):
    """Escapes those line breaks."""


def yaml_text(data: Any) -> str:
    """Return data as block YAML, keys in their order, long texts in one line."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=sys.maxsize)


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = '"' if OTHER_LINE_BREAKS & set(value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)
