"""The plan beside its costs: sums after a destruction, room for nodes, and the way of stacks."""

from __future__ import annotations

from decimal import Decimal

from slurmpod.cli.plan_text import plan_text
from slurmpod.plan.plan import plan_of
from tests.pure.plan.planned import PRICES, resolved, worker


def test_without_its_cluster_an_environment_costs_all_but_the_nodes() -> None:
    assert plan_of(resolved(), PRICES).without_cluster.usd_per_hour == Decimal("0.29")


def test_what_is_kept_costs_after_all_stacks_are_gone() -> None:
    plan = plan_of(resolved(), PRICES)
    assert plan.after_destroy.usd_per_hour == Decimal("0.24")
    deleted = {"lustre": {"on_delete": "delete"}}
    assert plan_of(resolved(storage=deleted), PRICES).after_destroy.usd_per_hour == 0


def test_there_is_room_for_so_many_more_workers() -> None:
    network = {"zone": "us-west-2b", "private_subnet_cidr": "10.0.128.0/25"}
    p5 = worker(instance_type="ml.p5.48xlarge", count=1)
    (room,) = plan_of(resolved(network=network, cluster=p5), PRICES).rooms
    assert (room.cidr, room.usable) == ("10.0.128.0/25", 123)
    assert room.taken == 34 + 1  # 32 of the worker, one each of the controller and Lustre's servers
    assert room.more_nodes == {"workers": 2}


def test_what_nodes_of_an_unknown_type_take_is_not_promised() -> None:
    found = plan_of(resolved(cluster=worker(instance_type="ml.p9.48xlarge")), PRICES)
    (room,) = found.rooms
    assert (room.more_nodes, room.uncounted) == ({}, ("workers",))
    assert "nodes of workers, of unknown types, may take more than one" in plan_text(found)


def test_of_subnets_of_unknown_size_nothing_is_promised() -> None:
    existing = {
        "vpc_id": "vpc-0123456789abcdef0",
        "subnets": [{"id": "subnet-0123456789abcdef0", "zone": "us-west-2b"}],
    }
    (room,) = plan_of(resolved(network={"zone": "us-west-2b", "existing": existing}), PRICES).rooms
    assert (room.usable, room.more_nodes) == (None, {})


def test_the_way_goes_through_all_stacks_in_order_with_what_was_published() -> None:
    found = plan_of(resolved(), PRICES)
    assert [step.stack for step in found.steps] == list(resolved().stacks.in_order())
    timed = [step for step in found.steps if step.usually]
    assert [step.stack for step in timed] == [found.cluster_stack]
    assert all(step.usually and step.usually.source for step in timed)


def test_every_price_that_counts_is_named_with_its_source_once() -> None:
    assert [source.name for source in plan_of(resolved(), PRICES).sources] == ["made-up"]
    assert plan_of(resolved(), {}).sources == ()
