from __future__ import annotations

import json
from typing import Any

import pytest

from slurmpod.bundle import render_bundle
from slurmpod.bundle.slurm_settings import slurm_settings
from slurmpod.reading.read import Reading, read_as
from slurmpod.resolve import Resolved, resolve
from slurmpod_lifecycle.dataclass_json import to_json

YAML = """
name: dev
account: "123456789012"
region: us-west-2
network: {zone: us-west-2b}
cluster:
  groups:
    - {name: head, role: controller, instance_type: ml.m5.large}
    - {name: hands, role: worker, instance_type: ml.m5.large, count: 2, partition: cpu}
"""
ENFORCED = "associations,limits,qos"


def resolved(slurm: str, yaml: str = YAML) -> Resolved:
    environment = read_as("test.yaml", f"{yaml}slurm: {slurm}\n").environment
    assert environment is not None
    return resolve(Reading(environment))


def values(slurm: str, yaml: str = YAML) -> dict[str, Any]:
    written: dict[str, Any] = to_json(slurm_settings(resolved(slurm, yaml)))
    return written


def test_they_are_part_of_what_nodes_read() -> None:
    bundle = render_bundle(resolved("{settings: {KillWait: 60}}"))
    assert bundle is not None
    assert json.loads(bundle.files["settings.json"])["slurm"]["configuration"] == {"KillWait": "60"}


def test_an_environment_that_asks_for_nothing_changes_nothing() -> None:
    nothing: dict[str, Any] = {"configuration": {}, "partitions": {}, "qos": {}, "accounts": []}
    assert values("{}") == nothing
    assert values("{accounting: false}") == nothing


class TestConfiguration:
    def test_gpus_are_counted_where_there_are_some(self) -> None:
        with_gpus = YAML.replace(
            "worker, instance_type: ml.m5.large", "worker, instance_type: ml.g5.xlarge"
        )
        assert values("{}", with_gpus)["configuration"] == {"AccountingStorageTRES": "gres/gpu"}
        assert values("{accounting: false}", with_gpus)["configuration"] == {}

    def test_gpus_are_counted_where_a_group_may_get_some(self) -> None:
        flexible = YAML.replace(
            "worker, instance_type: ml.m5.large",
            "worker, instance_types: [ml.m5.large, ml.g5.xlarge]",
        )
        assert values("{}", flexible)["configuration"] == {"AccountingStorageTRES": "gres/gpu"}

    @pytest.mark.parametrize(
        "limits",
        [
            "{qos: [{name: high}]}",
            "{partitions: [{name: cpu, allowed_qos: [normal]}]}",
            "{accounts: [{name: a, total_resources: {cpu: 4}}]}",
        ],
    )
    def test_limits_are_enforced_where_there_are_some(self, limits: str) -> None:
        assert values(limits)["configuration"]["AccountingStorageEnforce"] == ENFORCED

    @pytest.mark.parametrize(
        "slurm",
        [
            "{accounts: [{name: a, shares: 3}]}",
            "{fair_share: {}}",
            '{partitions: [{name: cpu, max_time: "01:00:00"}]}',
            "{accounting: false, qos: [{name: high}]}",
        ],
    )
    def test_nobody_is_locked_out_without_need(self, slurm: str) -> None:
        assert "AccountingStorageEnforce" not in values(slurm)["configuration"]

    def test_preemption_follows_from_qos(self) -> None:
        configuration = values("{qos: [{name: high, preempts: [normal]}]}")["configuration"]
        assert configuration["PreemptType"] == "preempt/qos"
        assert configuration["PreemptMode"] == "REQUEUE"

    def test_what_the_user_sets_wins_in_whatever_case(self) -> None:
        slurm = "{qos: [{name: high, preempts: [normal]}], settings: {PREEMPTMODE: CANCEL}}"
        configuration = values(slurm)["configuration"]
        assert configuration["PREEMPTMODE"] == "CANCEL"
        assert "PreemptMode" not in configuration

    @pytest.mark.parametrize(
        ("given", "rendered"),
        [
            ("bf_continue", "bf_continue,permit_job_expansion"),
            ("permit_job_expansion,bf_continue", "permit_job_expansion,bf_continue"),
        ],
    )
    def test_auto_resume_keeps_what_it_needs(self, given: str, rendered: str) -> None:
        settings = f'{{settings: {{SchedulerParameters: "{given}"}}}}'
        assert values(settings)["configuration"] == {"SchedulerParameters": rendered}

    def test_weights_are_those_of_the_multifactor_plugin(self) -> None:
        configuration = values("{fair_share: {half_life_days: 3, qos_weight: 5}}")["configuration"]
        assert configuration["PriorityType"] == "priority/multifactor"
        assert configuration["PriorityDecayHalfLife"] == "3-00:00:00"
        assert configuration["PriorityWeightQOS"] == "5"
        assert configuration["PriorityWeightFairshare"] == "100000"


class TestPartitions:
    def test_only_what_is_said_is_set(self) -> None:
        slurm = "{partitions: [{name: cpu, priority_tier: 0, default: true}, {name: dev}]}"
        assert values(slurm)["partitions"] == {"cpu": {"Default": "YES", "PriorityTier": "0"}}

    @pytest.mark.parametrize(
        ("time", "shown"),
        [
            ("UNLIMITED", "UNLIMITED"),
            ("00:30:00", "00:30:00"),
            ("26:00:30", "1-02:01:00"),
            ("1-02:00:00", "1-02:00:00"),
            ("999:59:59", "41-16:00:00"),
            ("0-23:59:01", "1-00:00:00"),
        ],
    )
    def test_times_are_written_as_slurm_shows_them(self, time: str, shown: str) -> None:
        slurm = f'{{partitions: [{{name: cpu, max_time: "{time}"}}]}}'
        assert values(slurm)["partitions"]["cpu"]["MaxTime"] == shown

    def test_with_a_fair_share_a_gpu_counts_as_the_cpus_that_come_with_it(self) -> None:
        gpus = "    - {name: gpus, role: worker, instance_type: ml.g5.12xlarge, partition: gpu}\n"
        assert values("{fair_share: {}}", YAML + gpus)["partitions"] == {
            "gpu": {"TRESBillingWeights": "cpu=1,gres/gpu=12"},
            "dev": {"TRESBillingWeights": "cpu=1,gres/gpu=12"},
        }
        assert values("{fair_share: {}}")["partitions"] == {}
        assert values("{}", YAML + gpus)["partitions"] == {}

    def test_weights_of_ones_own_take_the_place_of_these(self) -> None:
        gpus = "    - {name: gpus, role: worker, instance_type: ml.p5.48xlarge, partition: gpu}\n"
        own = "partitions: [{name: gpu, billing_weights: {mem: 0.25G, gres/gpu: 30}}]"
        partitions = values(f"{{fair_share: {{}}, {own}}}", YAML + gpus)["partitions"]
        assert partitions["gpu"] == {"TRESBillingWeights": "gres/gpu=30,mem=0.25G"}
        assert partitions["dev"] == {"TRESBillingWeights": "cpu=1,gres/gpu=24"}
        assert set(values(f"{{{own}}}", YAML + gpus)["partitions"]) == {"gpu"}

    @pytest.mark.parametrize(
        ("slurm", "expected"),
        [
            ("{partitions: [{name: cpu, max_nodes: 1}]}", "ALL"),
            ("{fair_share: {}}", "ALL"),
            ("{qos: [{name: high}]}", "ALL"),
            ("{partitions: [{name: cpu, max_nodes: 1}], settings: {enforcepartlimits: NO}}", None),
            ("{settings: {KillWait: 60}}", None),
        ],
    )
    def test_jobs_that_can_never_run_are_refused_where_somebody_limits_them(
        self, slurm: str, expected: str | None
    ) -> None:
        assert values(slurm)["configuration"].get("EnforcePartLimits") == expected


class TestQos:
    def test_limits_that_are_not_set_are_said_to_be_none(self) -> None:
        (options,) = values("{qos: [{name: high, max_time: UNLIMITED}]}")["qos"].values()
        assert options["MaxWall"] == ""
        assert options["MaxTRESPerJob"] == {}
        assert options["PreemptMode"] == "cluster"

    def test_zero_is_a_limit(self) -> None:
        slurm = "{qos: [{name: high, max_jobs_per_user: 0}]}"
        assert values(slurm)["qos"]["high"]["MaxJobsPerUser"] == "0"


class TestAccounts:
    def test_everybody_is_in_one_account_while_none_is_named(self) -> None:
        (account,) = values("{qos: [{name: high}, {name: normal}]}")["accounts"]
        assert account["name"] == "default"
        assert account["options"]["QOS"] == ["high", "normal"]
        assert account["options"]["DefaultQOS"] == "normal"

    def test_parents_come_before_their_children(self) -> None:
        slurm = "{accounts: [{name: c, parent: b}, {name: b, parent: a}, {name: a}]}"
        assert [account["name"] for account in values(slurm)["accounts"]] == ["a", "b", "c"]

    @pytest.mark.parametrize(
        ("top", "below", "qos", "default"),
        [
            ("", "", ["normal"], "normal"),
            (", qos: [high]", "", ["high"], "high"),
            (", qos: [high, normal]", "", ["high", "normal"], "normal"),
            (", qos: [high, low], default_qos: low", "", ["high", "low"], "low"),
            (", qos: [high], default_qos: high", ", qos: [low]", ["low"], "low"),
        ],
    )
    def test_what_an_account_has_from_above_is_written_down(
        self, top: str, below: str, qos: list[str], default: str
    ) -> None:
        accounts = f"[{{name: top{top}}}, {{name: below, parent: top{below}}}]"
        options = values(f"{{accounts: {accounts}}}")["accounts"][1]["options"]
        assert (options["QOS"], options["DefaultQOS"]) == (qos, default)

    @pytest.mark.parametrize(
        "accounts",
        [
            "[{name: a, parent: a}]",
            "[{name: a, parent: b}, {name: b, parent: a}]",
            "[{name: a, parent: nowhere}]",
            "[{name: a}, {name: a}]",
        ],
    )
    def test_what_rules_refuse_does_no_harm(self, accounts: str) -> None:
        assert values(f"{{accounts: {accounts}}}")["accounts"]
