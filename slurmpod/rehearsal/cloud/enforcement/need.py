"""What a call takes: one action on one resource, under circumstances that policies ask about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Need:
    """An action that must be allowed; `resource` is an ARN or `*`."""

    action: str
    resource: str
    context: Mapping[str, str | Sequence[str]]
