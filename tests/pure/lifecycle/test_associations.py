from __future__ import annotations

from dataclasses import replace

import pytest

from slurmpod_lifecycle.settings import Account, Role, SlurmSettings
from slurmpod_lifecycle.slurm import SLURM_CONF
from slurmpod_lifecycle.step import NotYet
from slurmpod_lifecycle.steps.associations import (
    Associations,
    account_plan,
    ordinary_users,
    qos_plan,
    user_plan,
)
from tests.pure.lifecycle.fakes import SLURM, machine_of, node

SACCTMGR = "/opt/slurm/bin/sacctmgr"
SHOW = f"{SACCTMGR} --noheader --parsable2 show"
HERE = "cluster=dev"
RESEARCH = Account(
    "research",
    "Basic research",
    {"Parent": "root", "Fairshare": "10", "QOS": ["normal"], "DefaultQOS": "normal", "GrpTRES": {}},
)
SHOWN_RESEARCH = {
    "Account": "research",
    "User": "",
    "ParentName": "root",
    "Fairshare": "10",
    "QOS": "normal",
    "DefaultQOS": "normal",
    "GrpTRES": "",
}
DESCRIBED = [{"Account": "research", "Description": "basic research"}]


def step(conf: str = "ClusterName=Dev\n") -> Associations:
    wanted = replace(SLURM, qos={"high": {"Priority": "10"}}, accounts=(RESEARCH,))
    step = Associations(node(Role.CONTROLLER, slurm=wanted))
    machine = machine_of(step.node)
    machine.files[SLURM_CONF] = conf
    machine.reply(f"{SHOW} cluster", "dev\n")
    machine.reply(f"{SHOW} qos", "normal|0||||||||cluster\n")
    machine.reply(f"{SHOW} account", "root|default root account\n")
    machine.reply(f"{SHOW} associations", "root|||1|normal||\nroot|root||1|normal||\n")
    machine.reply("getent passwd", "root:x:0:0::/root:/bin/sh\nubuntu:x:1000:1000::/:/bin/sh\n")
    return step


def made(step: Associations) -> list[str]:
    prefix = f"{SACCTMGR} --immediate --quiet "
    ran = machine_of(step.node).ran
    return [line.removeprefix(prefix) for line in ran if line.startswith(prefix)]


class TestStep:
    def test_makes_what_is_missing_in_an_order_that_works(self) -> None:
        associations = step()
        assert not associations.is_done()
        associations.apply()
        assert made(associations) == [
            "add qos high",
            "modify qos high set Priority=10",
            "add account research cluster=dev Description=research",
            (
                "modify account where name=research cluster=dev set DefaultQOS=normal Fairshare=10"
                " QOS=normal Description=Basic research"
            ),
            "add user ubuntu cluster=dev Account=research DefaultAccount=research",
        ]

    def test_finds_itself_done_when_nothing_differs(self) -> None:
        associations = step()
        machine = machine_of(associations.node)
        machine.reply(f"{SHOW} qos", "high|10||||||||cluster\n")
        machine.reply(f"{SHOW} account", "research|basic research\n")
        machine.reply(
            f"{SHOW} associations",
            "research||root|10|normal|normal|\nresearch|ubuntu||1|normal|normal|\n",
        )
        assert associations.is_done()
        assert made(associations) == []

    def test_waits_until_slurmctld_has_registered_the_cluster(self) -> None:
        associations = step()
        machine_of(associations.node).reply(f"{SHOW} cluster", "another\n")
        with pytest.raises(NotYet, match="has not registered the cluster"):
            associations.apply()

    @pytest.mark.parametrize(
        ("wanted", "applies"),
        [
            (SLURM, False),
            (replace(SLURM, configuration={"KillWait": "60"}), False),
            (replace(SLURM, qos={"high": {}}), True),
            (replace(SLURM, accounts=(RESEARCH,)), True),
        ],
    )
    def test_is_there_only_where_it_is_needed(self, wanted: SlurmSettings, applies: bool) -> None:
        assert Associations.applies_to(node(Role.CONTROLLER, slurm=wanted)) is applies
        assert not Associations.applies_to(node(Role.WORKER, slurm=wanted))


class TestQos:
    def test_all_exist_before_one_preempts_another(self) -> None:
        plan = qos_plan({"high": {"Preempt": ["low"]}, "low": {}}, [])
        assert plan == [
            ("add", "qos", "high"),
            ("add", "qos", "low"),
            ("modify", "qos", "high", "set", "Preempt=low"),
        ]

    def test_what_somebody_made_by_hand_stays(self) -> None:
        assert qos_plan({}, [{"Name": "by-hand", "Priority": "7"}]) == []

    def test_a_limit_that_the_environment_no_longer_has_is_taken_back(self) -> None:
        shown = [{"Name": "high", "MaxWall": "1-00:00:00"}]
        plan = qos_plan({"high": {"MaxWall": ""}}, shown)
        assert plan == [("modify", "qos", "high", "set", "MaxWall=-1")]


class TestAccounts:
    def test_nothing_differs_though_slurm_writes_descriptions_small(self) -> None:
        assert account_plan([RESEARCH], DESCRIBED, [SHOWN_RESEARCH], HERE) == []

    def test_nothing_differs_where_slurm_leaves_letters_as_they_are(self) -> None:
        account = replace(RESEARCH, description="Rés\u00c9arch")
        described = [{"Account": "research", "Description": "rés\u00c9arch"}]
        assert account_plan([account], described, [SHOWN_RESEARCH], HERE) == []

    def test_an_account_moves_below_another(self) -> None:
        moved = [{**SHOWN_RESEARCH, "ParentName": "science"}]
        (change,) = account_plan([RESEARCH], DESCRIBED, moved, HERE)
        assert change[-2:] == ("set", "Parent=root")

    def test_users_of_an_account_are_not_taken_for_the_account(self) -> None:
        user = {**SHOWN_RESEARCH, "User": "ubuntu", "Fairshare": "1"}
        assert account_plan([RESEARCH], DESCRIBED, [user, SHOWN_RESEARCH, user], HERE) == []


class TestUsers:
    def test_the_users_of_the_image_and_whoever_is_nowhere_get_in(self) -> None:
        shown = [
            {"Account": "other", "User": "ubuntu"},
            {"Account": "other", "User": "by-hand"},
        ]
        plan = user_plan([RESEARCH], ["alice", "by-hand", "ubuntu"], shown, HERE)
        assert plan == [
            ("add", "user", "alice", HERE, "Account=research", "DefaultAccount=research"),
            ("add", "user", "ubuntu", HERE, "Account=research"),
        ]

    def test_people_are_those_with_ordinary_numbers(self) -> None:
        passwd = (
            "root:x:0:0::/:/bin/sh\nslurm:x:401:401::/:/bin/sh\nubuntu:x:1000:1000::/:/bin/sh\n"
            "zoe:x:59999:1::/:/bin/sh\nnobody:x:65534:1::/:/bin/false\nodd\nodder:x:y:1::/:/\n"
        )
        assert ordinary_users(passwd) == ["ubuntu", "zoe"]
