from __future__ import annotations

from slurmpod.environment.catalog import TYPES_OF_PLANS, ULTRASERVER_TYPES, instance_types
from slurmpod.environment.regions import HYPERPOD_REGIONS


def test_the_catalog_knows_the_types_that_the_examples_use() -> None:
    p5 = instance_types()["ml.p5.48xlarge"]
    assert (p5.accelerator, p5.accelerator_count, p5.network_cards) == ("H100", 8, 32)
    trn1 = instance_types()["ml.trn1.32xlarge"]
    assert (trn1.accelerator_kind, trn1.accelerator_count) == ("neuron", 16)


def test_parts_of_ultraservers_are_of_arm_and_known_by_plans() -> None:
    for name in ULTRASERVER_TYPES:
        facts = instance_types()[name]
        assert (facts.architecture, facts.accelerator, facts.accelerator_count) == (
            "arm64",
            "GB200",
            4,
        )
    assert ULTRASERVER_TYPES <= TYPES_OF_PLANS


def test_every_row_is_consistent() -> None:
    for name, facts in instance_types().items():
        assert name == facts.name
        assert name.startswith("ml.")
        assert facts.default_threads_per_core in facts.valid_threads_per_core
        assert facts.vcpus == facts.cores * facts.default_threads_per_core
        assert bool(facts.accelerator_kind) == bool(facts.accelerator_count)
        assert facts.network_cards >= 1
        assert facts.efa_interfaces <= facts.network_cards


def test_regions_are_names_of_regions() -> None:
    assert "us-west-2" in HYPERPOD_REGIONS
    assert all(region[-1].isdigit() and region.count("-") == 2 for region in HYPERPOD_REGIONS)
