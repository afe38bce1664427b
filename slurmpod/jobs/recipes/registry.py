"""All recipes, in the order in which a new cluster meets them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType

from slurmpod.jobs.recipes.recipe import Recipe

MODULES = """
    check_nodes
    collectives_bench
    io_bench
    ddp
    sharded_array
    sweep
    gpt2_compile
    smp2_llama
    trn1_llama2_7b
    bert_pipeline
    train_fsdp2
    fsdp2_hybrid
    pretrain
    own_program
"""
"""The file of each recipe."""


def _recipes() -> Iterator[tuple[str, Recipe]]:
    for module in MODULES.split():
        recipe: Recipe = import_module(f"slurmpod.jobs.recipes.{module}").RECIPE
        yield recipe.name, recipe


RECIPES: Mapping[str, Recipe] = MappingProxyType(dict(_recipes()))
