"""The keys of SMP, as a user of a recipe writes them: in YAML, and as SMP's own JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmpod.jobs.recipes.chosen import chosen_parameters
from slurmpod.jobs.recipes.recipe import Parameters, Recipe
from slurmpod.jobs.recipes.smp_keys import Techniques
from slurmpod.problems import InvalidEnvironment, Problem
from tests.pure.jobs.test_recipe_parameters import place_on

RECIPE = Recipe("smp", "a job with the keys of SMP", (), parameters=Techniques)

DOCUMENT = """\
{
  "tensor_parallel_degree": 8,
  "hybrid_shard_degree": 2,
  "sm_activation_offloading": true,
  "activation_loading_horizon": 2,
  "random_seed": 0
}
"""


def chosen(text: str, folder: Path, name: str = "smp_config.json") -> Parameters:
    file = folder / name
    file.write_text(text)
    return chosen_parameters(RECIPE, place_on(), file)


def mistakes(text: str, folder: Path, name: str = "smp_config.json") -> list[Problem]:
    with pytest.raises(InvalidEnvironment) as caught:
        chosen(text, folder, name)
    return list(caught.value.problems)


def test_the_configuration_of_smp_is_taken_as_it_is(tmp_path: Path) -> None:
    assert chosen(DOCUMENT, tmp_path) == Techniques(
        tensor_parallel_degree=8, hybrid_shard_degree=2, random_seed=0
    )


def test_a_key_that_was_renamed_says_so(tmp_path: Path) -> None:
    (problem,) = mistakes(DOCUMENT.replace("random_seed", "tensor_parallel_seed"), tmp_path)
    assert problem.where.line == 6
    assert problem.message == "unknown key 'tensor_parallel_seed'"
    assert problem.fix == "it was renamed: write random_seed"


def test_words_of_python_are_not_json(tmp_path: Path) -> None:
    text = '{"sm_activation_offloading": True,\n "tensor_parallel_degree": None}'
    first, *others = mistakes(text, tmp_path)
    assert (first.where.line, first.where.column) == (1, 30)
    assert (first.message, first.fix) == ("True is Python, and not JSON", "write true")
    assert [(each.where.line, each.fix[:10]) for each in others] == [
        (2, "write null"),
        (2, "write a wh"),
    ]


def test_yaml_has_these_words_and_comments(tmp_path: Path) -> None:
    text = "# ours\nsm_activation_offloading: False\n"
    assert chosen(text, tmp_path, "smp.yaml") == Techniques(sm_activation_offloading=False)
    (problem,) = mistakes(text, tmp_path)
    assert problem.message.startswith("this is not JSON: ")
    assert problem.where.line == 1


@pytest.mark.parametrize(
    ("tensor", "shard", "field"),
    [
        (8, 2, None),
        (1, 16, None),
        (2, 0, None),
        (3, 0, "tensor_parallel_degree"),
        (1, 5, "hybrid_shard_degree"),
        (32, 0, "tensor_parallel_degree"),
        (8, 4, "hybrid_shard_degree"),
    ],
)
def test_degrees_divide_the_processes(tensor: int, shard: int, field: str | None) -> None:
    keys = Techniques(tensor_parallel_degree=tensor, hybrid_shard_degree=shard)
    assert [each.field for each in keys.degree_mistakes(16)] == ([field] if field else [])


def test_the_way_out_fits() -> None:
    keys = Techniques(tensor_parallel_degree=8, hybrid_shard_degree=4)
    (mistake,) = keys.degree_mistakes(16)
    assert mistake.fix == "write one of 1, 2"
