"""Gathers the facts: all questions to the account at once, each answered or refused on its own."""

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
"""Questions under way at a time: enough to wait for none, too few for AWS to throttle."""

NOT_KNOWN_THERE = "InvalidClientTokenId"
"""What services of a Region say to an account that has not enabled it (STS user guide)."""

Answers = dict[Question[Any], Any]
OnAnswer = Callable[[str], None]


def gather(
    clients: AwsClients, resolved: Resolved, now: datetime, on_answer: OnAnswer = lambda _: None
) -> Facts:
    """Ask the account whatever concerns an environment; `on_answer` is told what was answered.

    Without credentials, or with those of another account, nothing else is asked.
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
    """Return what AWS says to one question; Unanswered where it refuses, or is not reached."""
    try:
        with as_unavailable(f"ask about {question.subject}"):
            return question.ask(clients, resolved)
    except AwsUnavailable as refused:
        return Unanswered(question.field, code_of(refused), str(refused))


def _status_of_region(refused: Unanswered, clients: AwsClients, resolved: Resolved) -> Answers:
    """Ask about the Region where that may be why it knows no credentials: it is not enabled."""
    if refused.code != NOT_KNOWN_THERE:
        return {}
    status = answer(REGION_STATUS, clients, resolved)
    return {} if isinstance(status, Unanswered) else {REGION_STATUS: status}


def _ask_all(clients: AwsClients, resolved: Resolved, on_answer: OnAnswer) -> Answers:
    """Return answers, in the order of the questions."""
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
        except BaseException:  # Ctrl-C must not wait for questions that were not begun
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return answers
