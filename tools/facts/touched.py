"""The parts of this repository that depend on a fact: rules, fields, documentation, embedded AWS.

Rules and fields name a fact, or a constant derived from it; documentation and the embedded AWS name
its values, or AWS's name for it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from slurmpod.environment.facts import Fact
from tools.facts.compare import Difference

ROOT = Path(__file__).parents[2]
RULE_ID = re.compile(r"[A-Z]{2,4}-[0-9]{3}")
UNAMBIGUOUS = re.compile(r"[A-Za-z]{2}.*[A-Z0-9_-].{2,}|[0-9]+\.[0-9]+")
"""Values with the same meaning in any context: PERSISTENT_2 and 2.15, but not 125 or NONE."""

CODE = ("slurmpod", "stacks", "lifecycle_scripts")
FOLDERS = {"docs": ("docs", "*.md"), "embedded AWS": ("embedded_aws", "*.py")}


def touched(difference: Difference) -> Mapping[str, Sequence[str]]:
    """Return the parts that a difference touches, by kind, in order and without repetition."""
    of = difference.fact
    found: dict[str, dict[str, None]] = {"rules": {}, "fields": {}, "code": {}}
    for kind, name in _in_code(_names(of)):
        found[kind][name] = None
    words = _words(difference)
    for kind, (folder, pattern) in FOLDERS.items():
        found[kind] = dict.fromkeys(_lines(folder, pattern, words)) if words else {}
    return {kind: list(names) for kind, names in found.items() if names}


def _names(of: Fact) -> list[str]:
    """Return the names of a fact and of its table in quotes, as in code."""
    return [f'"{of.name}"', *([f'"{Path(of.table).name}"'] if of.table else [])]


def _words(difference: Difference) -> list[str]:
    of = difference.fact
    values = (*difference.gone, *difference.new, *of.values[:20])
    names = of.checked_against.replace(".", " ").split()[1:]
    return [each for each in (*names, *values) if UNAMBIGUOUS.fullmatch(each)]


def _in_code(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the rules, fields and other places that contain one of the names."""
    constants: list[str] = []
    for file, number, line in _all_lines():
        if any(name in line for name in names):
            yield _place(file, number)
            constants += re.findall(r"^([A-Z_]+)\b.*=", line)
    for name in dict.fromkeys(constants):
        for file, number, line in _all_lines():
            if re.search(rf"\b{name}\b", line):
                yield _place(file, number)


def _lines(folder: str, pattern: str, words: Sequence[str]) -> Iterator[str]:
    any_word = "|".join(map(re.escape, words))
    wanted = re.compile(rf"(?<![\w.-])({any_word})(?![\w-]|\.[0-9])")
    for file in sorted((ROOT / folder).rglob(pattern)):
        for number, line in enumerate(_text(file).splitlines(), start=1):
            if wanted.search(line):
                yield f"{file.relative_to(ROOT)}:{number}"


@cache
def _all_lines() -> Sequence[tuple[Path, int, str]]:
    files = (file for folder in CODE for file in sorted((ROOT / folder).rglob("*.py")))
    return [
        (file, number, line)
        for file in files
        for number, line in enumerate(_text(file).splitlines(), start=1)
    ]


@cache
def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _place(file: Path, number: int) -> tuple[str, str]:
    """Return the rule or field that a line belongs to, else the line's position."""
    for first, last, kind, name in _definitions(file):
        if first <= number <= last:
            return kind, name
    return "code", f"{file.relative_to(ROOT)}:{number}"


@cache
def _definitions(file: Path) -> Sequence[tuple[int, int, str, str]]:
    """Return the rules and fields that a file defines, with their first and last lines."""
    found = []
    for node in ast.walk(ast.parse(_text(file))):
        if isinstance(node, ast.FunctionDef) and (rule := _rule_id(node)):
            first = node.decorator_list[0].lineno
            found.append((first, node.end_lineno or first, "rules", rule))
        if isinstance(node, ast.ClassDef) and file.parent.name == "environment":
            found += [
                (each.lineno, each.end_lineno or each.lineno, "fields", f"{node.name}.{target.id}")
                for each in node.body
                if isinstance(each, ast.AnnAssign) and isinstance(target := each.target, ast.Name)
            ]
    return found


def _rule_id(function: ast.FunctionDef) -> str:
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and decorator.args:
            first = decorator.args[0]
            if isinstance(first, ast.Constant) and RULE_ID.fullmatch(str(first.value)):
                return str(first.value)
    return ""
