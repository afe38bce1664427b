"""Branches of a shell script, to find places that are never reached in the same run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from slurmpod.value import Value

if TYPE_CHECKING:
    from tree_sitter import Node

TEST = re.compile(
    r"""(?P<outer>!\s*)? \[{1,2}\s+ (?P<inner>!\s+)? (?:(?P<empty>-[nz])\s+)?
        "?\$\{?(?P<name>[A-Za-z_]\w*)(?::?-)?\}?"?
        (?:\s+(?P<comparison>={1,2}|!=)\s+["']?(?P<value>[^\s"'$\]]*)["']?)? \s+\]{1,2}""",
    re.VERBOSE | re.ASCII,
)
"""One test of one variable, such as `[ -n "$IMAGE" ]` or `[[ $MODE == container ]]`."""

ARMS = frozenset({"elif_clause", "else_clause"})


class Fact(Value):
    """A comparison of a variable with a value; "" for an empty one."""

    name: str
    value: str
    is_so: bool

    def excludes(self, other: Fact) -> bool:
        """Return whether the two are contradictory."""
        if self.name != other.name:
            return False
        if self.value == other.value:
            return self.is_so != other.is_so
        return self.is_so and other.is_so


class Branch(Value):
    """A part of a text that is run under a condition: one arm of one statement, of several."""

    statement: int
    arm: int
    start: int
    stop: int
    facts: tuple[Fact, ...]

    def excludes(self, other: Branch) -> bool:
        """Return whether no run reaches both, if no variable changes in between."""
        if self.statement == other.statement:
            return self.arm != other.arm
        return any(mine.excludes(its) for mine in self.facts for its in other.facts)


def branches(root: Node, offset: int) -> Iterator[Branch]:
    """Yield the branches in a tree whose text begins at an offset."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if find := OF_NODES.get(node.type):
            for arm, (first, last, facts) in enumerate(find(node)):
                start, stop = offset + first.start_byte, offset + last.end_byte
                yield Branch(offset + node.start_byte, arm, start, stop, tuple(facts))
        waiting += node.children


Arm = tuple["Node", "Node", Iterable[Fact]]


def _of_if(node: Node) -> Iterator[Arm]:
    clauses = [each for each in node.children if each.type in ARMS]
    then = next((each for each in node.children if each.type == "then"), None)
    if then is None:
        return
    facts = _facts(node.children[1 : node.children.index(then)])
    own = [each for each in node.children if each.type not in ARMS and each.type != "fi"]
    yield then, own[-1], facts
    for clause in clauses:
        is_only_else = clause.type == "else_clause" and len(clauses) == len(facts) == 1
        yield clause, clause, [_denied(facts[0])] if is_only_else else []


def _of_case(node: Node) -> Iterator[Arm]:
    for each in node.children:
        if each.type == "case_item":
            yield each, each, ()


def _of_list(node: Node) -> Iterator[Arm]:
    if len(node.children) == 3 and node.children[1].type == "&&":
        first, _, second = node.children
        yield second, second, _facts([first])


OF_NODES: dict[str, Callable[[Node], Iterator[Arm]]] = {
    "if_statement": _of_if,
    "case_statement": _of_case,
    "list": _of_list,
}


def _facts(condition: Iterable[Node]) -> list[Fact]:
    """Return the tests that a condition implies; nothing if it tests no variable."""
    text = " ".join((each.text or b"").decode() for each in condition)
    if "||" in text:
        return []
    matches = (TEST.fullmatch(part.strip(" ;\n")) for part in text.split("&&"))
    return [_fact(match) for match in matches if match]


def _fact(match: re.Match[str]) -> Fact:
    is_equal = match["empty"] == "-z" if match["empty"] else match["comparison"] in ("=", "==")
    is_denied = bool(match["outer"]) != bool(match["inner"])
    return Fact(match["name"], match["value"] or "", is_equal != is_denied)


def _denied(fact: Fact) -> Fact:
    return Fact(fact.name, fact.value, not fact.is_so)
