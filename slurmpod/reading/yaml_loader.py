"""The parser of YAML that this machine has."""

from __future__ import annotations

import yaml


def loader() -> type[yaml.SafeLoader]:
    """Return the C parser where PyYAML has it: ten times faster, the same positions."""
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)
