from __future__ import annotations

import botocore.session
import pytest

from slurmpod.environment.catalog import (
    PASSED_OVER,
    TYPES_OF_PLANS,
    family_of,
    instance_types,
)
from slurmpod.reading.read import read_as
from slurmpod.rules.check import check
from slurmpod.rules.instance_types import is_plausible, likely_meant
from slurmpod.rules.request import create_cluster_shapes
from tests.sound_environment import SOUND

EC2_SIZES_THAT_HYPERPOD_HAS_NOT = "metal"
EC2_FAMILIES_OF_OTHER_FORM = ("u-",)


def ec2_types() -> list[str]:
    loader = botocore.session.get_session().get_component("data_loader")
    types: list[str] = loader.load_service_model("ec2", "service-2")["shapes"]["InstanceType"][
        "enum"
    ]
    return [
        name
        for name in types
        if EC2_SIZES_THAT_HYPERPOD_HAS_NOT not in name
        and not name.startswith(EC2_FAMILIES_OF_OTHER_FORM)
    ]


def test_all_types_of_ec2_could_be_offered_one_day() -> None:
    assert [name for name in ec2_types() if not is_plausible(f"ml.{name}")] == []


def test_all_types_of_hyperpod_are_plausible() -> None:
    known = [*instance_types(), *create_cluster_shapes()["ClusterInstanceType"]["enum"]]
    assert [name for name in known if not is_plausible(name)] == []


@pytest.mark.parametrize(
    "name",
    [
        "ml.m5.xlrage",
        "ml.m5.xlargee",
        "ml.m5.5xlarge",
        "ml.p5.84xlarge",
        "ml.m5.0xlarge",
        "ml.m5.02xlarge",
        "ml.m5.2large",
        "ml.m5.metal",
        "ml.mm.xlarge",
        "ml.5m.xlarge",
        "ml.m-5.xlarge",
        "ml.standard.large",
    ],
)
def test_mistyped_sizes_and_families_are_not(name: str) -> None:
    assert not is_plausible(name)


@pytest.mark.parametrize(
    "name", ["ml.p7.48xlarge", "ml.trn3.36xlarge", "ml.p6e-gb300.36xlarge", "ml.m9i.128xlarge"]
)
def test_newer_ones_are(name: str) -> None:
    assert is_plausible(name)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ml.p5.24xlarge", "of p5 it knows 48xlarge, 4xlarge:"),
        ("ml.p5ne.48xlarge", "did you mean 'ml.p5e.48xlarge'?"),
        ("ml.p6e-gb300.36xlarge", "did you mean 'ml.p6e-gb200.36xlarge'?"),
        ("ml.p7.48xlarge", ""),
    ],
)
def test_the_hint_at_known_types_names_none_that_is_something_else(name: str, hint: str) -> None:
    assert likely_meant(name) == hint


def test_an_unknown_type_says_what_is_not_checked() -> None:
    text = SOUND.replace("ml.m5.xlarge", "ml.p9.48xlarge")
    (problem,) = check(read_as("e.yaml", text))
    assert problem.rule == "CLU-012"
    assert "threads, EFA and accelerators are not checked" in problem.message
    assert "one address each" in problem.message
    assert "did you mean" not in problem.fix


def test_every_type_that_hyperpod_takes_is_known() -> None:
    assert set(create_cluster_shapes()["ClusterInstanceType"]["enum"]) <= instance_types().keys()


def test_hyperpod_takes_no_type_of_a_family_that_it_passed_over() -> None:
    taken = create_cluster_shapes()["ClusterInstanceType"]["enum"]
    assert {family_of(name) for name in (*taken, *instance_types())} & PASSED_OVER == set()
    assert {name.split(".")[0] for name in ec2_types()} >= PASSED_OVER


def test_plans_reserve_the_types_of_the_service_model() -> None:
    loader = botocore.session.get_session().get_component("data_loader")
    shapes = loader.load_service_model("sagemaker", "service-2")["shapes"]
    assert set(shapes["ReservedCapacityInstanceType"]["enum"]) == TYPES_OF_PLANS
