"""Protected environments: the CDK app makes nothing that loses something nobody confirmed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.changes.compare import changes
from slurmpod.cli import protection
from slurmpod.deployment_record import read_record, record
from slurmpod.operations import difference
from slurmpod.operations.deployed import Deployed
from slurmpod.operations.difference import Difference
from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved, resolve
from tests.sound_environment import SOUND

FILE = Path("dev.yaml")


def environment(count: int, *, protected: bool = True) -> Resolved:
    text = SOUND.replace("count: 2", f"count: {count}")
    return resolve(read_as("dev.yaml", f"{text}protected: {str(protected).lower()}\n"))


def compared(wanted: Resolved, before: Resolved, *, is_known: bool = True) -> Difference:
    recorded = read_record(record(before))
    deployed = Deployed(recorded if is_known else None, ("dev-cluster",), has_cluster=True)
    return Difference(wanted, deployed, changes(recorded, wanted) if is_known else ())


Asking = Callable[[Difference | AwsUnavailable], None]


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch) -> Asking:
    """Let the account answer so, whoever asks."""

    def answers(answer: Difference | AwsUnavailable) -> None:
        def ask(*_: Any) -> Difference:
            if isinstance(answer, AwsUnavailable):
                raise answer
            return answer

        monkeypatch.setattr(protection, "clients_of", lambda _: None)
        monkeypatch.setattr(protection, "difference_seen_by_the_cdk", ask)

    return answers


def refused(resolved: Resolved, confirmed: str = "") -> list[str]:
    return list(protection.refusals({FILE: resolved}, confirmed))


def test_nodes_that_would_go_are_named_with_what_confirms_it(deployed: Asking) -> None:
    fewer = environment(1)
    deployed(compared(fewer, environment(2)))
    (said,) = refused(fewer)
    assert said.startswith("refused: dev is protected\nloses something: cluster.groups.workers")
    assert "2 -> 1" in said
    assert "slurmpod deploy dev.yaml" in said
    confirmation = said.rpartition("-c confirm=")[2]
    assert refused(fewer, f"other:1234,{confirmation}") == []


def test_a_confirmation_is_for_one_change_only(deployed: Asking) -> None:
    before = environment(4)
    first, second = compared(environment(3), before), compared(environment(1), before)
    assert first.confirmation != second.confirmation
    deployed(second)
    assert refused(environment(1), first.confirmation)


@pytest.mark.parametrize(
    ("count", "before"), [(4, environment(2)), (2, environment(2, protected=False))]
)
def test_what_loses_nothing_is_not_asked_about(
    deployed: Asking, count: int, before: Resolved
) -> None:
    deployed(compared(environment(count), before))
    assert refused(environment(count)) == []


def test_a_first_deployment_is_not_asked_about(deployed: Asking) -> None:
    deployed(Difference(environment(2), None, ()))
    assert refused(environment(2)) == []


def test_what_nobody_remembers_may_be_lost(deployed: Asking) -> None:
    deployed(compared(environment(2), environment(2), is_known=False))
    (said,) = refused(environment(2))
    assert "there is no record of what is deployed" in said
    assert refused(environment(2), "dev:unseen") == []


def test_an_account_that_does_not_answer_stops_it(deployed: Asking) -> None:
    deployed(AwsUnavailable("cannot read the parameters: AccessDenied"))
    (said,) = refused(environment(2))
    assert "AccessDenied" in said
    assert "AWS_PROFILE instead of --profile" in said
    assert refused(environment(2), "dev:unseen") == []


def test_what_is_seen_is_not_confirmed_unseen(deployed: Asking) -> None:
    deployed(compared(environment(1), environment(2)))
    assert refused(environment(1), "dev:unseen")


class TestWhoAsks:
    """The caller, or the CDK's role for questions."""

    def test_the_cdks_role_asks_for_who_may_not(self, monkeypatch: pytest.MonkeyPatch) -> None:
        own, of_role = SimpleNamespace(), SimpleNamespace()
        answer = Difference(environment(2), None, ())

        def ask(clients: object, _: Resolved) -> Difference:
            if clients is own:
                raise AwsUnavailable("AccessDenied")
            return answer

        monkeypatch.setattr(difference, "compared_with_deployed", ask)
        monkeypatch.setattr(difference, "lookup_clients", lambda *_: of_role)
        found = difference.difference_seen_by_the_cdk(own, environment(2))  # type: ignore[arg-type]
        assert found is answer

    def test_the_callers_own_reason_is_told_where_both_may_not(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> Difference:
            raise AwsUnavailable("the credentials belong to another account")

        def no_role(*_: object) -> object:
            raise AwsUnavailable("cannot assume the role")

        monkeypatch.setattr(difference, "compared_with_deployed", refuse)
        monkeypatch.setattr(difference, "lookup_clients", no_role)
        with pytest.raises(AwsUnavailable, match="belong to another account"):
            difference.difference_seen_by_the_cdk(None, environment(2))  # type: ignore[arg-type]
