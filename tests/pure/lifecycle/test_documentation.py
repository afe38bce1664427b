"""docs/lifecycle.md lists the steps that there are, as the code describes them."""

from __future__ import annotations

import re

from slurmpod_lifecycle.hooks import HookAfter, HookBefore, variables
from slurmpod_lifecycle.identify import Identify
from slurmpod_lifecycle.settings import Mode, Role
from slurmpod_lifecycle.step import Step
from slurmpod_lifecycle.steps import STEPS
from tests.golden_files import ROOT, assert_matches
from tests.pure.lifecycle.fakes import node

PAGE = ROOT / "docs" / "lifecycle.md"
BEGIN, END = "<!-- steps: made by `make golden` -->\n", "<!-- end of steps -->\n"


def test_the_table_of_steps_is_fresh(update_golden: bool) -> None:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    assert_matches(PAGE, f"{before}{BEGIN}{table()}{END}{after}", update=update_golden)


def test_every_variable_of_a_hook_is_on_the_page() -> None:
    told = set(re.findall(r"^\| `([A-Z_]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert told == set(variables(node(Role.WORKER), "before"))


def table() -> str:
    steps: tuple[type[Step], ...] = (Identify, HookBefore, *STEPS, HookAfter)
    head = "| step | nodes | mode | needs | without it | what it sees to |\n"
    return f"{head}|---|---|---|---|---|---|\n{''.join(map(_row, steps))}"


def _row(step: type[Step]) -> str:
    roles = getattr(step, "roles", frozenset(Role))
    modes = getattr(step, "modes", frozenset(Mode))
    needs = "all others" if step is HookAfter else ", ".join(step.needs)
    cells = (
        f"`{step.name}`",
        "all" if roles == set(Role) else ", ".join(each.value for each in Role if each in roles),
        "both" if modes == set(Mode) else ", ".join(each.value for each in modes),
        needs,
        "the node fails" if step.required else "a warning",
        " ".join((step.__doc__ or "").split("\n\n")[0].split()),
    )
    return f"| {' | '.join(cells)} |\n"
