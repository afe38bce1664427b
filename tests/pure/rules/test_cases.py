"""Each rule finds what is marked in its bad case, and nothing in its good one.

The cases of `slurmpod/rules/lustre.py` are in `CASES/lustre.yaml`. A case is judged by its own rule
and by those that it names in a mark or below `suppress`. So a new rule changes no other case.
All rules together judge the environments of this repository: see test_environments.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import pytest

from slurmpod.reading.read import read_as
from slurmpod.reading.yaml_source import read_yaml
from slurmpod.rules.areas import MODULES, all_rules
from slurmpod.rules.check import check
from slurmpod.rules.registry import Area

CASES = Path(__file__).parents[2] / "cases" / "rules"
SECTION = re.compile(r"^(\w+):.*\n(?: .*\n)*", re.MULTILINE)
HEAD = {each[1]: each[0] for each in SECTION.finditer((CASES / "_head.yaml").read_text())}

RULE_ID = re.compile(r"\b[A-Z]{3}-\d{3}\b")
MARK = re.compile(r" # <- (\w{3}-\d{3}(?:, \w{3}-\d{3})*)$", re.MULTILINE)

NEED_MORE_THAN_A_FILE = {"ENV-005", "ENV-008", "RUL-001"}
"""Two files that clash, and a mistake of our own: see test_check."""


@dataclass(frozen=True)
class Cases:
    """What a file holds below the id of a rule; `files` are those that its texts name."""

    bad: str
    good: str
    files: dict[str, str] = field(default_factory=dict)


def cases_of(module: str) -> dict[str, Cases]:
    source = read_yaml(f"{module}.yaml", (CASES / f"{module}.yaml").read_text())
    assert not source.problems, source.problems
    return {rule_id: Cases(**cases) for rule_id, cases in source.data.items()}


OF_MODULES = {module: cases_of(module) for module in MODULES}
OF_RULES = {rule_id: cases for each in OF_MODULES.values() for rule_id, cases in each.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of all cases."""
    folder = tmp_path_factory.mktemp("cases")
    write_files(folder)
    return folder


def write_files(folder: Path) -> None:
    """Give every rule a folder with the files of its cases."""
    for rule_id, cases in OF_RULES.items():
        for name, text in cases.files.items():
            file = folder / rule_id / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())


def with_head(case: str) -> str:
    """Return a case below those sections of the head that it does not have itself."""
    own = {section[1] for section in SECTION.finditer(case)}
    return "".join(section for name, section in HEAD.items() if name not in own) + case


def marked(text: str, rule_id: str, file: Path) -> str:
    """Return a text with the marks that the rule, and those that the text names, give it."""
    ids = {rule_id, *RULE_ID.findall(text)}
    plain = MARK.sub("", text)
    found = defaultdict(list)
    for problem in check(read_as(str(file), plain), [r for r in all_rules() if r.id in ids]):
        assert problem.where.file == str(file), problem
        found[problem.where.line].append(problem.rule)
    return "".join(
        f"{line} # <- {', '.join(sorted(found[number]))}\n" if number in found else f"{line}\n"
        for number, line in enumerate(plain.splitlines(), start=1)
    )


@pytest.mark.parametrize("rule_id", OF_RULES)
def test_nothing_is_found_in_the_good_case(rule_id: str, folder: Path) -> None:
    text = with_head(OF_RULES[rule_id].good)
    assert marked(text, rule_id, folder / rule_id / "good.yaml") == text
    assert not MARK.search(text)


@pytest.mark.parametrize("rule_id", OF_RULES)
def test_what_is_marked_in_the_bad_case_is_found_and_nothing_else(
    rule_id: str, folder: Path
) -> None:
    text = with_head(OF_RULES[rule_id].bad)
    assert marked(text, rule_id, folder / rule_id / "bad.yaml") == text
    assert rule_id in "".join(MARK.findall(text))


def test_no_rule_crashes_on_any_bad_case(folder: Path) -> None:
    for rule_id, cases in OF_RULES.items():
        reading = read_as(str(folder / rule_id / "bad.yaml"), with_head(cases.bad))
        assert "RUL-001" not in {problem.rule for problem in check(reading)}, rule_id


@pytest.mark.parametrize("module", MODULES)
def test_the_cases_stand_in_the_order_of_the_rules(module: str) -> None:
    areas = vars(import_module(f"slurmpod.rules.{module}")).values()
    ids = [rule.id for area in areas if isinstance(area, Area) for rule in area.rules]
    assert list(OF_MODULES[module]) == [each for each in ids if each not in NEED_MORE_THAN_A_FILE]


def test_there_is_no_file_without_rules() -> None:
    assert {file.stem for file in CASES.iterdir()} == {*MODULES, "_head"}
