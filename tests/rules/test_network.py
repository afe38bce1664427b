"""The arithmetic of addresses at its edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slurmpod.model.loader import load_text
from slurmpod.rules.check import check
from tests.sound_environment import SOUND

if TYPE_CHECKING:
    from slurmpod.problems import Problem


def check_with(*, nodes: int, instance_type: str = "ml.m5.xlarge", network: str) -> list[Problem]:
    text = SOUND.replace("  vpc_cidr: 10.0.0.0/16\n", network).replace(
        "count: 2", f"count: {nodes}"
    )
    return list(check(load_text("dev.yaml", text.replace("ml.m5.xlarge", instance_type))))


CONTROLLER_AND_FILE_SYSTEM = 3


@pytest.mark.parametrize("prefix", range(17, 24))
def test_the_subnet_may_be_filled_to_the_last_address_and_no_further(prefix: int) -> None:
    network = f"  vpc_cidr: 10.0.0.0/16\n  private_subnet_cidr: 10.0.128.0/{prefix}\n"
    room = min(2 ** (32 - prefix) - 5 - CONTROLLER_AND_FILE_SYSTEM, 6758)
    assert check_with(nodes=room, network=network) == []
    if room < 6758:
        (problem,) = check_with(nodes=room + 1, network=network)
        assert problem.rule == "NET-006"
        assert problem.fix == f"choose a /{prefix - 1} or larger"


@pytest.mark.parametrize("prefix", range(19, 25))
def test_the_vpc_that_the_fix_names_is_the_smallest_that_suffices(prefix: int) -> None:
    room = 2 ** (32 - prefix - 1) - 5 - CONTROLLER_AND_FILE_SYSTEM
    (problem,) = check_with(nodes=room + 1, network=f"  vpc_cidr: 10.0.0.0/{prefix}\n")
    assert problem.fix.startswith(f"choose a vpc_cidr of /{prefix - 1} or larger")
    assert check_with(nodes=room + 1, network=f"  vpc_cidr: 10.0.0.0/{prefix - 1}\n") == []


def test_the_message_says_which_group_needs_how_many() -> None:
    network = "  vpc_cidr: 10.0.0.0/24\n"
    (problem,) = check_with(nodes=4, instance_type="ml.p5.48xlarge", network=network)
    assert problem.message == (
        "131 addresses are needed, 10.0.0.128/25 has 123: "
        "controller 1, workers 128 (4 x 32), file system 2"
    )


def test_no_vpc_is_large_enough_for_everything() -> None:
    network = "  vpc_cidr: 10.0.0.0/16\n"
    (problem,) = check_with(nodes=1024, instance_type="ml.p5.48xlarge", network=network)
    assert problem.fix == "use fewer nodes: no VPC is larger than /16"
