"""What an environment costs, with prices that are made up."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from slurmpod.plan.costs import Certainty, Part, costs, total
from slurmpod.plan.prices import Item, by_item
from tests.pure.plan.planned import PRICES, cost, price, resolved, worker
from tests.served import served

PLAN = "arn:aws:sagemaker:us-west-2:123456789012:training-plan/p5-june"


class TestNodes:
    def test_cost_what_hyperpod_asks_for_them(self) -> None:
        found = cost("controller")
        assert (found.usd_per_hour, found.certainty) == (Decimal("0.5"), Certainty.EXACT)

    def test_cost_at_least_what_ec2_asks_where_no_more_is_known(self) -> None:
        found = cost("workers")
        assert (found.usd_per_hour, found.certainty) == (Decimal("1.6"), Certainty.AT_LEAST)
        assert "EC2's price" in found.note

    @pytest.mark.parametrize(
        ("settings", "certainty", "note"),
        [
            ({"instance_type": "ml.p5.48xlarge"}, Certainty.UNKNOWN, ""),
            ({"capacity": "spot"}, Certainty.UNKNOWN, "spot"),
            ({"training_plan_arn": PLAN}, Certainty.PREPAID, "training plan"),
        ],
    )
    def test_whose_price_nobody_can_tell_have_none(
        self, settings: dict[str, Any], certainty: Certainty, note: str
    ) -> None:
        found = cost("workers", cluster=worker(**settings))
        assert (found.usd_per_hour, found.certainty) == (None, certainty)
        assert note in found.note

    def test_of_several_types_cost_what_the_most_wanted_does_or_more(self) -> None:
        types = {"instance_type": None, "instance_types": ["ml.m5.large", "ml.m5.xlarge"]}
        found = cost("workers", cluster=worker(**types))
        assert (found.usd_per_hour, found.certainty) == (Decimal(1), Certainty.AT_LEAST)
        assert found.what == "2 x ml.m5.large or another of its types"
        assert found.note == "the price of the most wanted type"

    def test_that_are_none_cost_nothing(self) -> None:
        names = [each.name for each in costs(resolved(cluster=worker(count=0)), PRICES)]
        assert "workers" not in names

    def test_volumes_of_all_nodes_are_named(self) -> None:
        assert cost("additional volumes", cluster=worker(volume_gib=500)).what == "1000 GiB"


class TestFileSystems:
    def test_lustre_costs_by_capacity(self) -> None:
        found = cost("/fsx")
        assert (found.usd_per_hour, found.certainty) == (Decimal("0.24"), Certainty.EXACT)
        assert found.stays

    @pytest.mark.parametrize(
        ("detail", "lustre"),
        [
            ("", {"deployment_type": "SCRATCH_2"}),
            ("100", {"deployment_type": "PERSISTENT_1", "throughput_mbps_per_tib": 100}),
        ],
    )
    def test_lustre_of_older_kinds_costs_by_capacity_too(
        self, detail: str, lustre: dict[str, Any]
    ) -> None:
        prices = by_item([price(Item.LUSTRE_GB_MONTH, detail, "0.073")])
        found = cost("/fsx", prices, storage={"lustre": lustre})
        assert (found.usd_per_hour, found.certainty) == (Decimal("0.12"), Certainty.EXACT)

    @pytest.mark.parametrize(
        "lustre",
        [
            {"throughput_mbps_per_tib": 1000},
            {"deployment_type": "SCRATCH_2"},
            {"storage_type": "INTELLIGENT_TIERING"},
            {
                "deployment_type": "PERSISTENT_1",
                "storage_type": "HDD",
                "throughput_mbps_per_tib": 12,
                "capacity_gib": 6000,
            },
        ],
    )
    def test_of_other_kinds_are_not_guessed(self, lustre: dict[str, Any]) -> None:
        found = cost("/fsx", storage={"lustre": lustre})
        assert (found.usd_per_hour, found.certainty) == (None, Certainty.UNKNOWN)

    def test_that_are_there_already_are_not_counted(self) -> None:
        existing = {"id": "fs-0123456789abcdef0", "mount_name": "fsx12345"}
        found = costs(resolved(storage={"lustre": {"existing": existing}}), PRICES)
        assert Part.FILE_SYSTEMS not in {each.part for each in found}

    def test_that_go_with_their_stack_do_not_stay(self) -> None:
        assert not cost("/fsx", storage={"lustre": {"on_delete": "delete"}}).stays
        assert cost("/home", storage={"openzfs": {"mount_path": "/home"}}).stays


class TestNetwork:
    def test_each_nat_gateway_costs(self) -> None:
        zones = {"zone": "us-west-2b", "other_zones": [{"zone": "us-west-2a"}], "nat": "per_zone"}
        assert cost("NAT", network=zones).usd_per_hour == Decimal("0.1")

    def test_each_endpoint_costs_in_each_zone(self) -> None:
        zones = {
            "zone": "us-west-2b",
            "other_zones": [{"zone": "us-west-2a"}],
            "interface_endpoints": ["ssm", "logs", "sts"],
        }
        found = cost("endpoints", network=zones)
        assert (found.usd_per_hour, found.what) == (Decimal("0.06"), "3 services in 2 zones")
        one_zone = {**zones, "other_zones": [], "interface_endpoints": ["ssm"]}
        assert cost("endpoints", network=one_zone).what == "1 service in 1 zone"


class TestSum:
    def test_is_a_minimum_where_something_is_unknown(self) -> None:
        found = total(costs(resolved(), PRICES))
        assert found.is_least
        assert found.usd_per_hour == Decimal("2.39")
        assert found.usd_per_day == Decimal("57.36")
        assert found.usd_per_month == Decimal("1744.7")

    def test_names_the_price_of_every_figure(self) -> None:
        found = [each for each in costs(resolved(), PRICES) if each.usd_per_hour is not None]
        assert {each.name for each in found} == {"controller", "workers", "/fsx", "NAT"}
        assert all(each.price in PRICES.values() for each in found)

    def test_is_exact_where_all_is_known_but_what_depends_on_use(self) -> None:
        known = resolved(cluster=worker(instance_type="ml.m5.large"))
        assert total(costs(known, PRICES)).is_least is False

    @pytest.mark.parametrize(
        ("on_delete", "stays", "note"),
        [
            ("retain", True, ""),
            ("snapshot", True, "only its final snapshot stays"),
            ("delete", False, ""),
        ],
    )
    def test_a_database_is_named_without_a_price(
        self, on_delete: str, stays: bool, note: str
    ) -> None:
        slurm = {"rds": {"on_delete": on_delete, "multi_az": True}}
        network = {"zone": "us-west-2b", "other_zones": [{"zone": "us-west-2a"}]}
        (found,) = (
            each
            for each in costs(resolved(slurm=slurm, network=network), PRICES)
            if each.part is Part.DATABASE
        )
        assert (found.certainty, found.stays) == (Certainty.UNKNOWN, stays)
        assert (found.name, found.note) == ("dev-records", note)
        assert "in two zones" in found.what


class TestEndpoint:
    def test_is_always_on_at_a_price_that_nobody_guesses(self) -> None:
        (found,) = (each for each in costs(served(), {}) if each.part is Part.SERVICES)
        assert (found.what, found.certainty) == ("1 x ml.g4dn.xlarge", Certainty.UNKNOWN)
        assert found.note == "always on, also without requests; no last day"
        assert not found.stays

    def test_costs_at_least_its_fewest_instances(self) -> None:
        prices = by_item([price(Item.ENDPOINT_INSTANCE, "ml.g4dn.xlarge", "0.736")])
        scaling = {"max_instances": 4, "invocations_per_instance": 60}
        scaled = served(instances=2, scaling=scaling, delete_after="2027-03-31")
        (found,) = (each for each in costs(scaled, prices) if each.part is Part.SERVICES)
        assert found.what == "2 to 4 x ml.g4dn.xlarge"
        assert (found.usd_per_hour, found.certainty) == (Decimal("1.472"), Certainty.AT_LEAST)
        assert "wanted until 2027-03-31" in found.note
        few = served(instances=2)
        (fixed,) = (each for each in costs(few, prices) if each.part is Part.SERVICES)
        assert (fixed.usd_per_hour, fixed.certainty) == (Decimal("1.472"), Certainty.EXACT)


class TestNotebook:
    def test_costs_while_it_runs_and_its_volume_always(self) -> None:
        prices = by_item([price(Item.NOTEBOOK_INSTANCE, "ml.t3.medium", "0.05")])
        found = costs(served(services={"notebook": {}}), prices)
        instance, volume = (each for each in found if each.part is Part.SERVICES)
        assert (instance.name, instance.price) == ("notebook", *prices.values())
        assert (instance.usd_per_hour, instance.certainty) == (Decimal("0.05"), Certainty.EXACT)
        assert "stops after 60 idle minutes" in instance.note
        assert (volume.name, volume.stays) == ("notebook volume", True)
        assert volume.certainty is Certainty.UNKNOWN


class TestByUse:
    @pytest.mark.parametrize("on_delete", ["retain", "delete"])
    def test_what_stays_costs_after_the_stacks_are_gone(self, on_delete: str) -> None:
        found = costs(
            resolved(
                monitoring={"prometheus": {}, "observability": {}},
                lifecycle={"bucket_on_delete": on_delete},
            ),
            PRICES,
        )
        parts = (Part.MONITORING, Part.LOGS)
        lines = [(each.name, each.certainty, each.stays) for each in found if each.part in parts]
        assert lines == [
            ("CloudWatch", Certainty.UNKNOWN, False),
            ("Prometheus", Certainty.BY_USE, True),
            ("CloudWatch", Certainty.BY_USE, True),
            ("CloudWatch Logs", Certainty.BY_USE, True),
            ("S3", Certainty.BY_USE, on_delete == "retain"),
        ]
