"""Two files become one: what is merged, what is replaced, and where everything stands then."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurmpod.problems import YamlPath
from slurmpod.reading.merge import merged, without_base
from slurmpod.reading.yaml_source import YamlSource, read_yaml
from tests.pure.reading.test_phrases import paths


def merge(base: str, child: str) -> YamlSource:
    return merged(read_yaml("base.yaml", base), read_yaml("child.yaml", child))


def data_of(base: str, child: str) -> Any:
    source = merge(base, child)
    assert source.problems == []
    return source.data


def place(source: YamlSource, *path: str | int, key: bool = False) -> tuple[str, int, int]:
    where = source.where(path, key=key)
    return where.file, where.line, where.column


@pytest.mark.parametrize(
    ("base", "child", "result"),
    [
        ("{a: 1}", "{b: 2}", {"a": 1, "b": 2}),
        ("{a: 1}", "{a: 2}", {"a": 2}),
        ("{a: {b: 1, c: 2}}", "{a: {c: 3, d: 4}}", {"a": {"b": 1, "c": 3, "d": 4}}),
        ("{a: {b: 1}}", "{a: {}}", {"a": {"b": 1}}),
        ("{a: [1, 2]}", "{a: [3]}", {"a": [3]}),
        ("{a: {b: 1}}", "{a: 5}", {"a": 5}),
        ("{a: 5}", "{a: {b: 1}}", {"a": {"b": 1}}),
        ("{a: [{name: x}]}", "{a: {name: x}}", {"a": {"name": "x"}}),
        ("{a: {b: 1}}", "{a: [1]}", {"a": [1]}),
    ],
)
def test_mappings_are_merged_and_all_else_is_replaced(base: str, child: str, result: Any) -> None:
    assert data_of(base, child) == result


def test_the_keys_of_the_base_keep_their_order_and_new_ones_follow() -> None:
    assert list(data_of("{c: 1, a: 2}", "{d: 3, b: 4, a: 5}")) == ["c", "a", "d", "b"]


@pytest.mark.parametrize(
    ("base", "child", "result"),
    [
        ("{a: 1, b: 2}", "{a: null}", {"b": 2}),
        ("{a: 1, b: 2}", "{a: ~}", {"b": 2}),
        ("{a: {b: {c: 1}}}", "{a: {b: null}}", {"a": {}}),
        ("{a: null}", "{a: 1}", {"a": 1}),
        ("{a: 1}", "{b: null}", {"a": 1, "b": None}),
        ("{a: [{name: x, b: 1}]}", "{a: [{name: x, b: null}]}", {"a": [{"name": "x"}]}),
        ("{a: [{name: x}]}", "{a: null}", {}),
    ],
)
def test_a_written_null_takes_a_key_of_the_base_away(base: str, child: str, result: Any) -> None:
    assert data_of(base, child) == result


@pytest.mark.parametrize("base", ["{capacity_gib: 2400}", "{}", "null"])
def test_a_null_that_means_none_and_is_not_the_default_stays(base: str) -> None:
    source = merge(f"storage: {{lustre: {base}}}", "storage:\n  lustre: null")
    assert source.data == {"storage": {"lustre": None}}
    assert place(source, "storage", "lustre") == ("child.yaml", 2, 11)


def test_a_null_of_a_base_gives_way_to_what_is_built_on_it() -> None:
    child = "storage: {lustre: {efa: true}}"
    assert data_of("storage: {lustre: null}", child) == {"storage": {"lustre": {"efa": True}}}


@pytest.mark.parametrize(
    ("path", "value", "result"),
    [
        ("budget.forecast_percent", "90", {"forecast_percent": None}),
        ("budget.actual_percent", "[90]", {}),
        ("storage.openzfs", "{}", {}),
        ("storage.additional_lustre", "[{name: cold}]", {}),
        ("tags.team", "ml", {}),
    ],
)
def test_only_a_null_that_means_something_else_than_the_default_stays(
    path: str, value: str, result: Any
) -> None:
    section, key = path.split(".")
    merged_data = data_of(f"{section}: {{{key}: {value}}}", f"{section}: {{{key}: null}}")
    assert merged_data == {section: result}


@pytest.mark.parametrize("base", ["{a: 1}", "{a: {b: 1}}", "{a: [{name: x}]}"])
def test_a_value_that_was_left_out_takes_nothing_away_in_silence(base: str) -> None:
    assert data_of(base, "a:\n") == {"a": None}


@pytest.mark.parametrize(
    ("base", "child", "result"),
    [
        (
            "[{name: x, a: 1}, {name: y}]",
            "[{name: x, a: 2, b: 3}]",
            [{"name": "x", "a": 2, "b": 3}, {"name": "y"}],
        ),
        ("[{name: x}]", "[{name: y}]", [{"name": "x"}, {"name": "y"}]),
        ("[{name: x}, {name: y}]", "[{name: y}, {name: x}]", [{"name": "x"}, {"name": "y"}]),
        ("[{name: x, t: {a: 1}}]", "[{name: x, t: {b: 2}}]",
         [{"name": "x", "t": {"a": 1, "b": 2}}]),
        ("[{name: x, t: [{name: u, a: 1}]}]", "[{name: x, t: [{name: v}]}]",
         [{"name": "x", "t": [{"name": "u", "a": 1}, {"name": "v"}]}]),
        ("[{name: x}]", "[]", []),
        ("[]", "[{name: x}]", [{"name": "x"}]),
        ("[{name: x}]", "[{a: 1}]", [{"name": "x"}, {"a": 1}]),
        ("[{name: x}, {a: 1}]", "[{name: x, b: 2}]", [{"name": "x", "b": 2}, {"a": 1}]),
        ("[{name: x}]", "[y]", ["y"]),
        ("[x]", "[{name: y}]", [{"name": "y"}]),
        ("[{a: 1}]", "[{name: y}]", [{"name": "y"}]),
        ("[{name: 1}]", "[{name: 1}]", [{"name": 1}, {"name": 1}]),
        ("[{name: [1]}]", "[{name: [1]}]", [{"name": [1]}, {"name": [1]}]),
        ("[{rule: R, reason: a}]", "[{rule: S, reason: b}]",
         [{"rule": "R", "reason": "a"}, {"rule": "S", "reason": "b"}]),
        ("[{rule: R, reason: a}, {rule: S}]", "[{rule: R, reason: b}]",
         [{"rule": "R", "reason": "b"}, {"rule": "S"}]),
        ("[{rule: R}, {rule: S}]", "[{rule: R, remove: true}]", [{"rule": "S"}]),
        ("[{rule: R}]", "[]", []),
        ("[{name: x, rule: R}]", "[{name: x, rule: S}]", [{"name": "x", "rule": "S"}]),
    ],
)  # fmt: skip
def test_lists_of_named_mappings_are_merged_by_name(base: str, child: str, result: Any) -> None:
    assert data_of(f"list: {base}", f"list: {child}") == {"list": result}


ARM = "architecture: arm64"


@pytest.mark.parametrize(
    ("base", "child", "values"),
    [
        ("{name: x, v: 1}", f"{{name: x, {ARM}, v: 2}}", [1, 2]),
        ("{name: x, v: 1}", "{name: x, architecture: x86_64, v: 2}", [2]),
        (f"{{name: x, v: 1}}, {{name: x, {ARM}, v: 2}}", f"{{name: x, {ARM}, v: 3}}", [1, 3]),
        (f"{{name: x, {ARM}, v: 2}}, {{name: x, v: 1}}", "{name: x, v: 3}", [2, 3]),
        (f"{{name: x, {ARM}, v: 2}}, {{name: x, v: 1}}", "{name: x, remove: true}", []),
    ],
)
def test_packages_for_other_processors_are_other_entries(
    base: str, child: str, values: list[int]
) -> None:
    result = data_of(f"artefacts: [{base}]", f"artefacts: [{child}]")["artefacts"]
    assert [entry["v"] for entry in result] == values


@pytest.mark.parametrize(
    ("base", "child", "values"),
    [
        ("[{name: x, v: 1}]", "[{name: x, v: 2}, {name: x, v: 3}]", [2, 3]),
        ("[{name: x, v: 1}, {name: x, v: 2}]", "[{name: x, v: 3}]", [3, 2]),
        ("[{name: x, v: 1}, {name: x, v: 2}]", "[{name: x, v: 3}, {name: x, v: 4}]", [3, 4]),
        ("[{name: y, v: 1}]", "[{name: x, v: 2}, {name: x, v: 3}]", [1, 2, 3]),
    ],
)
def test_no_entry_is_lost_where_a_name_stands_twice(
    base: str, child: str, values: list[int]
) -> None:
    result = data_of(f"list: {base}", f"list: {child}")["list"]
    assert [entry["v"] for entry in result] == values


@pytest.mark.parametrize(
    ("base", "child", "result"),
    [
        ("[{name: x}, {name: y}]", "[{name: x, remove: true}]", [{"name": "y"}]),
        ("[{name: x}]", "[{remove: true, name: x}]", []),
        ("[{name: x}, {name: x}, {name: y}]", "[{name: x, remove: true}]", [{"name": "y"}]),
        ("[{name: x, a: 1}]", "[{name: x, remove: true}, {name: x, b: 2}]",
         [{"name": "x", "b": 2}]),
    ],
)  # fmt: skip
def test_an_entry_of_the_base_can_be_removed(base: str, child: str, result: Any) -> None:
    assert data_of(f"list: {base}", f"list: {child}") == {"list": result}


@pytest.mark.parametrize(
    ("child", "column", "message"),
    [
        ("{name: z, remove: true}", 18, "the base has no 'z' to remove here"),
        ("{name: x, remove: false}", 18, "'remove' can only be true"),
        ("{name: x, remove: yes}", 18, "'remove' can only be true"),
        ("{name: x, remove: }", 18, "'remove' can only be true"),
        ("{name: x, remove: true, a: 1}", 18, "an entry that removes one of the base has its name"),
        ("{remove: true}", 9, "an entry that removes one of the base has its name"),
        ("{name: x}, {name: x, remove: true}", 29, "the base has no 'x' to remove here"),
    ],
)
def test_an_entry_that_removes_nothing_is_a_problem(child: str, column: int, message: str) -> None:
    source = merge("list: [{name: x}]", f"list: [{child}]")
    (problem,) = source.problems
    assert (problem.rule, problem.where.file) == ("ENV-007", "child.yaml")
    assert (problem.where.line, problem.where.column) == (1, column)
    assert problem.message.startswith(message)
    assert source.data == {"list": [{"name": "x"}]}


@pytest.mark.parametrize(
    ("entry", "fix"),
    [
        ("{name: logins, remove: true}", "did you mean 'login'?"),
        ("{name: login1, remove: yes}", "write only `name` and `remove: true`, with a name of "),
        ("{rule: NET-001, remove: true}", "write only `rule` and `remove: true`, with a rule of "),
        ("{name: other, remove: true}", "write only `name` and `remove: true`, with a name of "),
    ],
)
def test_the_name_of_what_shall_be_removed_is_guessed(entry: str, fix: str) -> None:
    (problem,) = merge("[{name: login}, {name: workers}]", f"[{entry}]").problems
    assert problem.fix.startswith(fix)


@pytest.mark.parametrize("base", ["a: 1", "list: 5", "list: [1]", "list: []", "list: {name: x}"])
def test_nothing_can_be_removed_from_what_is_no_list_with_names(base: str) -> None:
    source = merge(base, "list: [{name: x, remove: true}, {name: y}]")
    assert [problem.rule for problem in source.problems] == ["ENV-007"]
    assert source.data["list"] == [{"name": "y"}]


def test_a_file_without_a_base_can_remove_nothing() -> None:
    source = without_base(
        read_yaml("dev.yaml", "list:\n  - {name: x}\n  - {name: y, remove: true}")
    )
    (problem,) = source.problems
    assert (problem.rule, problem.where.line, problem.where.path) == (
        "ENV-007",
        3,
        "list[1].remove",
    )
    assert source.data == {"list": [{"name": "x"}]}


@pytest.mark.parametrize("text", ["remove: true", "tags: {name: x, remove: true}"])
def test_a_key_of_a_mapping_may_be_called_remove(text: str) -> None:
    source = read_yaml("dev.yaml", text)
    assert without_base(source) is source
    assert data_of("a: 1", text) == {"a": 1, **source.data}


BASE = """\
a: 1
t:
  b: 2
  c: 3
list:
  - name: x
    v: 1
  - name: gone
    v: 2
  - name: y
    v: 3
"""
CHILD = """\
t:
  c: null
  d: 4
list:
  - name: gone
    remove: true
  - name: new
    v: 5
  - name: y
    v: 6
"""


def test_every_value_keeps_its_file_line_and_column() -> None:
    source = merge(BASE, CHILD)
    assert place(source) == ("child.yaml", 1, 1)
    assert place(source, "a") == ("base.yaml", 1, 4)
    assert place(source, "a", key=True) == ("base.yaml", 1, 1)
    assert place(source, "t", key=True) == ("child.yaml", 1, 1)
    assert place(source, "t", "b") == ("base.yaml", 3, 6)
    assert place(source, "t", "d", key=True) == ("child.yaml", 3, 3)
    assert [entry["name"] for entry in source.data["list"]] == ["x", "y", "new"]
    assert place(source, "list", 0, "v") == ("base.yaml", 7, 8)
    assert place(source, "list", 1) == ("child.yaml", 9, 5)
    assert place(source, "list", 1, "v") == ("child.yaml", 10, 8)
    assert place(source, "list", 2, "v") == ("child.yaml", 8, 8)


def test_what_is_missing_has_the_place_where_it_was_taken_away() -> None:
    assert place(merge(BASE, CHILD), "t", "c") == ("child.yaml", 2, 6)


def test_what_was_taken_away_or_replaced_has_no_place() -> None:
    source = merge("t: {a: {b: 1}}\nl: [1, 2]", "t: {a: null}\nl: [3]")
    assert ("t", "a", "b") not in source.values
    assert ("l", 1) not in source.values


def test_the_name_is_that_of_the_file_and_the_problems_are_those_of_both() -> None:
    source = merge("a: 1\na: 2", "b: 1\nb: 2")
    assert source.file == "child.yaml"
    assert [problem.where.file for problem in source.problems] == ["base.yaml", "child.yaml"]


NAMED = st.fixed_dictionaries(
    {"name": st.sampled_from("xyz")}, optional={"v": st.integers(0, 3), "remove": st.booleans()}
)
SCALAR = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a", "null"])
DATA = st.dictionaries(
    st.sampled_from("abc"),
    st.recursive(
        SCALAR | st.lists(NAMED, max_size=4),
        lambda inner: (
            st.dictionaries(st.sampled_from(["a", "b", "name", "remove"]), inner, max_size=3)
            | st.lists(inner, max_size=3)
        ),
        max_leaves=8,
    ),
    max_size=3,
)


def source_of(file: str, data: Any) -> YamlSource:
    return read_yaml(file, json.dumps(data))


def scalars(value: Any) -> dict[YamlPath, Any]:
    return {
        path: item for path in paths(value) if not isinstance(item := at(value, path), dict | list)
    }


def at(value: Any, path: YamlPath) -> Any:
    for part in path:
        value = value[part]
    return value


@settings(max_examples=300)
@given(DATA, DATA)
def test_every_value_of_the_result_stands_where_it_says(base: Any, child: Any) -> None:
    files = {
        "base.yaml": source_of("base.yaml", base),
        "child.yaml": source_of("child.yaml", child),
    }
    before = deepcopy((files["base.yaml"].data, files["child.yaml"].data))
    result = merged(files["base.yaml"], files["child.yaml"])
    for path, value in scalars(result.data).items():
        position = result.values[path]
        (there,) = (
            at(files[position[0]].data, written)
            for written, other in files[position[0]].values.items()
            if other == position
        )
        assert there == value
    assert (files["base.yaml"].data, files["child.yaml"].data) == before


@settings(max_examples=100)
@given(DATA)
def test_an_empty_file_changes_nothing_of_its_base(base: Any) -> None:
    settled = without_base(source_of("base.yaml", base))
    result = merged(settled, source_of("child.yaml", {}))
    assert result.data == settled.data
    assert [result.values[path] for path in paths(result.data) if path] == [
        settled.values[path] for path in paths(result.data) if path
    ]
