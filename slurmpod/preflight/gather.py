"""Gathers the facts: runs all queries in parallel, each with its own result or error."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from datetime import datetime
from typing import Any

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import AwsUnavailable, as_unavailable, code_of
from slurmpod.preflight.facts import Facts, Unanswered
from slurmpod.preflight.question import Fact, Question
from slurmpod.preflight.subjects import QUESTIONS
from slurmpod.preflight.subjects.account import CALLER, REGION_STATUS
from slurmpod.resolve import Resolved

AT_ONCE = 8
"""Number of parallel queries: enough to be fast, too few to be throttled."""

NOT_KNOWN_THERE = "InvalidClientTokenId"
"""Error codes in a Region that the account has not enabled (STS user guide)."""

Answers = dict[Question[Any], Any]
OnAnswer = Callable[[str], None]


def gather(
    clients: AwsClients, resolved: Resolved, now: datetime, on_answer: OnAnswer = lambda _: None
) -> Facts:
    """Run all queries for an environment; `on_answer` is called after each.

    Without credentials, or with those of another account, no other query runs.
    """
    facts = Facts(resolved.name, resolved.region, now)
    caller = answer(CALLER, clients, resolved)
    if isinstance(caller, Unanswered):
        status = _status_of_region(caller, clients, resolved)
        return replace(facts, unanswered=(caller,), answers=status)
    if caller is None or caller.account != resolved.account:
        return replace(facts, caller=caller)
    answers = _ask_all(clients, resolved, on_answer)
    known = {each: fact for each, fact in answers.items() if not isinstance(fact, Unanswered)}
    unanswered = tuple(each for each in answers.values() if isinstance(each, Unanswered))
    return replace(facts, caller=caller, unanswered=unanswered, answers=known)


def answer(
    question: Question[Fact], clients: AwsClients, resolved: Resolved
) -> Fact | Unanswered | None:
    """Return the answer to a query; Unanswered if AWS refuses or is not reached."""
    try:
        with as_unavailable(f"ask about {question.subject}"):
            return question.ask(clients, resolved)
    except AwsUnavailable as refused:
        return Unanswered(question.field, code_of(refused), str(refused))


def _status_of_region(refused: Unanswered, clients: AwsClients, resolved: Resolved) -> Answers:
    """Query the Region's status if invalid credentials may mean that it is not enabled."""
    if refused.code != NOT_KNOWN_THERE:
        return {}
    status = answer(REGION_STATUS, clients, resolved)
    return {} if isinstance(status, Unanswered) else {REGION_STATUS: status}


def _ask_all(clients: AwsClients, resolved: Resolved, on_answer: OnAnswer) -> Answers:
    """Return the answers in the order of the queries."""
    concerned = [each for each in QUESTIONS if each.concerns(resolved)]
    for name in {name for question in concerned for name in question.clients}:
        getattr(clients, name)
    answers: Answers = dict.fromkeys(concerned)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        asked = {pool.submit(answer, each, clients, resolved): each for each in concerned}
        try:
            for number, done in enumerate(as_completed(asked), start=1):
                question = asked[done]
                answers[question] = done.result()
                on_answer(f"{number} of {len(concerned)}: {question.subject}")
        except BaseException:  # Ctrl-C must not wait for queries that have not started
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return answers
