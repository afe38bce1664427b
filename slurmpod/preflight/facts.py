"""Facts about an account that decide whether a deployment can succeed: plain, frozen, to be saved.

Each is the answer to a query, and is defined beside it. None means not asked, or not answered. In a
mapping of resources that an environment names, None means that the account does not have the
resource. No fact holds a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from slurmpod.preflight.question import Fact, Question

Document = dict[str, Any]


@dataclass(frozen=True)
class Unanswered:
    """A query that AWS did not answer, and why; without a `code` AWS was not reached."""

    question: str
    code: str
    message: str


@dataclass(frozen=True)
class Caller:
    """The caller: the account of the credentials, and the ARN of the user, role or session."""

    account: str
    arn: str


@dataclass(frozen=True)
class Facts:
    """All facts, with their time and environment; `facts[ZONES]` is one."""

    environment: str
    region: str
    taken_at: datetime
    unanswered: tuple[Unanswered, ...] = ()
    caller: Caller | None = None
    answers: Mapping[Question[Any], Any] = field(default_factory=dict)

    def __getitem__(self, question: Question[Fact]) -> Fact | None:
        """Return the answer to a query; None if it was not asked or not answered."""
        answer: Fact | None = self.answers.get(question)
        return answer
