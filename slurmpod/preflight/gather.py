"""Gathers the facts: all questions to the account at once, each answered or refused on its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import datetime
from typing import Any

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import AwsUnavailable, as_unavailable, code_of
from slurmpod.preflight.facts import Facts, Unanswered
from slurmpod.preflight.questions import (
    account,
    capacity,
    data,
    deployment,
    network,
    notifications,
    services,
)
from slurmpod.preflight.questions.question import Question
from slurmpod.resolve import Resolved

AT_ONCE = 8
"""Questions under way at a time: enough to wait for none, too few for AWS to throttle."""

CALLER = Question(
    "caller",
    "the credentials",
    ("sts:GetCallerIdentity",),
    ("sts",),
    lambda clients, _: account.ask_caller(clients),
)

QUESTIONS = (
    *account.QUESTIONS,
    *capacity.QUESTIONS,
    *network.QUESTIONS,
    *data.QUESTIONS,
    *deployment.QUESTIONS,
    *notifications.QUESTIONS,
    *services.QUESTIONS,
)
"""All questions beside that for the caller, without whom none has an answer."""

NOT_KNOWN_THERE = "InvalidClientTokenId"
"""What services of a Region say to an account that has not enabled it (STS user guide)."""

OnAnswer = Callable[[str], None]


def gather(
    clients: AwsClients, resolved: Resolved, now: datetime, on_answer: OnAnswer = lambda _: None
) -> Facts:
    """Ask the account whatever concerns an environment; `on_answer` is told what was answered.

    Without credentials, or with those of another account, nothing else is asked.
    """
    facts: dict[str, Any] = {
        "environment": resolved.name,
        "region": resolved.region,
        "taken_at": now,
    }
    caller = answer(CALLER, clients, resolved)
    if isinstance(caller, Unanswered):
        return Facts(**facts, unanswered=(caller,), **_status_of_region(caller, clients, resolved))
    if caller.account != resolved.account:
        return Facts(**facts, caller=caller)
    answers = _ask_all(clients, resolved, on_answer)
    known = {name: each for name, each in answers.items() if not isinstance(each, Unanswered)}
    unanswered = tuple(each for each in answers.values() if isinstance(each, Unanswered))
    return Facts(**facts, caller=caller, unanswered=unanswered, **known)


def answer(question: Question, clients: AwsClients, resolved: Resolved) -> Any:
    """Return what AWS says to one question; Unanswered where it refuses, or is not reached."""
    try:
        with as_unavailable(f"ask about {question.subject}"):
            return question.ask(clients, resolved)
    except AwsUnavailable as refused:
        return Unanswered(question.field, code_of(refused), str(refused))


def _status_of_region(
    refused: Unanswered, clients: AwsClients, resolved: Resolved
) -> dict[str, Any]:
    """Ask about the Region where that may be why it knows no credentials: it is not enabled."""
    (question,) = (each for each in account.QUESTIONS if each.field == "region_status")
    status = answer(question, clients, resolved) if refused.code == NOT_KNOWN_THERE else None
    return {question.field: status} if isinstance(status, str) else {}


def _ask_all(clients: AwsClients, resolved: Resolved, on_answer: OnAnswer) -> dict[str, Any]:
    """Return answers by field, in the order of the questions."""
    concerned = [each for each in QUESTIONS if each.concerns(resolved)]
    for name in {name for question in concerned for name in question.clients}:
        getattr(clients, name)
    answers: dict[str, Any] = {question.field: None for question in concerned}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        asked = {pool.submit(answer, each, clients, resolved): each for each in concerned}
        try:
            for number, done in enumerate(as_completed(asked), start=1):
                question = asked[done]
                answers[question.field] = done.result()
                on_answer(f"{number} of {len(concerned)}: {question.subject}")
        except BaseException:  # Ctrl-C must not wait for questions that were not begun
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return answers
