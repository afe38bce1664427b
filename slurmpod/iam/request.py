"""What is asked of AWS: who wants to do what, with which resource, under which circumstances."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Principal:
    """Who asks: an IAM user, the session of a role, or a service of AWS.

    `arn` is that of the user or session, empty for a service; `role_arn` is that of the session's
    role; `service` is a name such as `sagemaker.amazonaws.com`.
    """

    arn: str = ""
    role_arn: str | None = None
    service: str | None = None

    @property
    def account(self) -> str:
        """The id of the account; empty for a service."""
        return self.arn.split(":")[4] if self.arn else ""


@dataclass(frozen=True)
class Request:
    """One action on one resource.

    `context` goes by condition key in any case, e.g. `aws:SourceIp`; several values only for keys
    that have several. `principal` matters to resource-based policies alone.
    """

    action: str
    resource: str
    context: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    principal: Principal | None = None

    @cached_property
    def values(self) -> Mapping[str, tuple[str, ...]]:
        """The values of the context by condition key in lower case."""
        return {
            key.lower(): (value,) if isinstance(value, str) else tuple(value)
            for key, value in self.context.items()
        }
