"""Facts that were not told, and warnings that are accepted."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

import pytest
from botocore.exceptions import ClientError

from slurmpod.aws.clients import AwsClients
from slurmpod.preflight.check import check
from slurmpod.preflight.facts import Caller, Facts, Unanswered
from slurmpod.preflight.gather import answer
from slurmpod.preflight.question import Question
from slurmpod.preflight.subjects import MODULES, QUESTIONS
from slurmpod.preflight.subjects.account import CALLER
from slurmpod.preflight.subjects.bootstrap import BOOTSTRAP
from slurmpod.preflight.subjects.clusters import CLUSTERS, ClusterUse
from slurmpod.preflight.subjects.leftovers import LEFTOVERS, Leftover
from slurmpod.preflight.subjects.quotas import QUOTAS, Quota
from slurmpod.preflight.subjects.stacks import STACKS
from slurmpod.preflight.subjects.zones import ZONES, Zone
from slurmpod.problems import Severity
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved
from slurmpod.rules.check import Sound, sound
from tests.sound_environment import SOUND

FACTS = Facts(
    "dev", "us-west-2", datetime(2026, 11, 23, tzinfo=UTC), caller=Caller("123456789012", "")
)


def environment(text: str = SOUND) -> Sound:
    return sound(read_as("dev.yaml", text))


@pytest.mark.parametrize(
    ("code", "severity", "fix"),
    [
        ("AccessDeniedException", Severity.WARNING, "docs/permissions.md"),
        ("ThrottlingException", Severity.WARNING, "in a minute"),
        ("UnsupportedOperation", Severity.NOTE, "a rehearsal's account"),
        ("", Severity.WARNING, "run it again"),
    ],
)
def test_a_question_without_an_answer_is_a_problem_of_its_own(
    code: str, severity: Severity, fix: str
) -> None:
    facts = replace(FACTS, unanswered=(Unanswered("quotas", code, "cannot ask"),))
    (problem,) = check(environment(), facts)
    assert (problem.rule, problem.severity, problem.message) == ("PRE-002", severity, "cannot ask")
    assert fix in problem.fix


def test_a_refusal_keeps_its_code() -> None:
    def throttled(clients: AwsClients, resolved: Resolved) -> None:
        details: Any = {"Error": {"Code": "ThrottlingException", "Message": "Rate exceeded"}}
        raise ClientError(details, "ListServiceQuotas")

    question: Question[None] = Question("quotas", "service quotas", (), (), throttled)
    refused = answer(question, None, environment().resolved)  # type: ignore[arg-type]
    message = "cannot ask about service quotas: ThrottlingException: Rate exceeded"
    assert refused == Unanswered("quotas", "ThrottlingException", message)


def test_facts_that_nobody_told_break_nothing() -> None:
    assert check(environment(), FACTS) == ()
    assert check(environment(), replace(FACTS, caller=None)) == ()


def test_problems_stand_at_their_lines() -> None:
    facts = replace(FACTS, answers={ZONES: (Zone("us-west-2a", "usw2-az1", "available"),)})
    (problem,) = check(environment(), facts)
    assert str(problem.where) == "dev.yaml:7:9"
    assert problem.fix == "write one of us-west-2a (usw2-az1)"


def test_a_warning_can_be_accepted_and_an_error_cannot() -> None:
    accepting = SOUND + "suppress: [{rule: PRE-604, reason: we want to start anew}]\n"
    left = replace(FACTS, answers={LEFTOVERS: (Leftover("AWS::S3::Bucket", "old", ""),)})
    assert [each.rule for each in check(environment(), left)] == ["PRE-604"]
    assert check(environment(accepting), left) == ()
    without = replace(FACTS, answers={BOOTSTRAP: 0})
    accepting = accepting.replace("PRE-604", "PRE-601")
    assert [each.rule for each in check(environment(accepting), without)] == ["PRE-601"]


def test_each_question_of_a_subject_is_asked_and_fills_a_field_of_its_own() -> None:
    subjects = [import_module(f"slurmpod.preflight.subjects.{name}") for name in MODULES]
    written = {each for module in subjects for each in vars(module).values() if is_question(each)}
    assert written == {CALLER, *QUESTIONS}
    fields = {each.name for each in dataclasses.fields(FACTS)}
    assert len(fields | {each.field for each in QUESTIONS}) == len(fields) + len(QUESTIONS)


def is_question(anything: object) -> bool:
    return isinstance(anything, Question)


def of_stacks(stacks: dict[str, str], cluster: ClusterUse) -> Facts:
    """Return facts of an account with a small quota, a cluster and these stacks."""
    quota = Quota("sagemaker", "L-1", "ml.m5.xlarge for cluster usage", 3)
    return replace(FACTS, answers={CLUSTERS: (cluster,), QUOTAS: (quota,), STACKS: stacks})


def test_what_is_deployed_already_is_not_in_its_own_way() -> None:
    own = ClusterUse("dev", "InService", {"ml.m5.xlarge": 2}, {})
    facts = of_stacks({}, own)
    assert [each.rule for each in check(environment(), facts)] == ["PRE-603"]
    deployed = dict.fromkeys(environment().resolved.stacks.in_order(), "UPDATE_COMPLETE")
    assert check(environment(), of_stacks(deployed, own)) == ()
    rolled_back = {**deployed, "dev-cluster": "ROLLBACK_COMPLETE"}
    again = check(environment(), of_stacks(rolled_back, own))
    assert [each.rule for each in again] == ["PRE-603"]
    others = of_stacks(deployed, replace(own, name="other"))
    assert [each.rule for each in check(environment(), others)] == ["PRE-101"]


PLAN = "arn:aws:sagemaker:us-west-2:123456789012:training-plan/t"
OF_PLAN = SOUND.replace("ml.m5.xlarge", "ml.p5.48xlarge").replace(
    "count: 2", f"count: 2\n      training_plan_arn: {PLAN}"
)


def test_a_plan_larger_than_the_quota_of_its_type_is_a_warning() -> None:
    of_plan = environment(OF_PLAN)
    quota = Quota("sagemaker", "L-1", "ml.p5.48xlarge for cluster usage", 1)
    (problem,) = (
        each
        for each in check(of_plan, replace(FACTS, answers={QUOTAS: (quota,)}))
        if each.rule == "PRE-109"
    )
    assert problem.severity is Severity.WARNING
    assert problem.message.endswith("is 1; 2 come from training plans")
    enough = replace(FACTS, answers={QUOTAS: (replace(quota, value=2),)})
    assert "PRE-109" not in {each.rule for each in check(of_plan, enough)}


def test_the_quota_of_spot_instances_is_said_to_be_unknown() -> None:
    spot = environment(
        SOUND.replace("count: 2", "count: 2\n      capacity: spot").replace(
            "cluster:\n", "lifecycle: {mode: extended}\ncluster:\n  provisioning: continuous\n"
        )
    )
    of_others = Quota("sagemaker", "L-1", "ml.m5.xlarge for cluster usage", 0)
    (problem,) = check(spot, replace(FACTS, answers={QUOTAS: (of_others,)}))
    assert (problem.rule, problem.severity) == ("PRE-110", Severity.NOTE)
    assert problem.message == "not checked: the quota of 2 spot instances"
    seeming = replace(of_others, name="ml.m5.xlarge for spot cluster usage", value=1)
    (problem,) = check(spot, replace(FACTS, answers={QUOTAS: (of_others, seeming)}))
    assert problem.message.endswith("; 'ml.m5.xlarge for spot cluster usage' is 1")
