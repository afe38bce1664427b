from __future__ import annotations

from typing import Any

import pytest

from slurmpod.reading.yaml_source import ALIASED_LIMIT, DEPTH_LIMIT, YamlSource, read_yaml


def read(text: str) -> YamlSource:
    return read_yaml("dev.yaml", text)


def data_of(text: str) -> Any:
    source = read(text)
    assert source.problems == []
    return source.data


def refused(text: str) -> tuple[int, int, str]:
    """Return line, column and message of the one problem, which must say what to do."""
    (problem,) = read(text).problems
    assert problem.rule == "ENV-001"
    assert problem.fix
    return problem.where.line, problem.where.column, problem.message


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("False", False),
        ("0", 0),
        ("-12", -12),
        ("+7", 7),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("2024-01-01", "2024-01-01"),
        ("1.10", "1.10"),
        ("1e3", "1e3"),
        ("007", "007"),
        ("0x10", "0x10"),
        ("1_000", "1_000"),
        ("10:30", "10:30"),
        ("+", "+"),
        ("9" * 30, "9" * 30),
        ('"12"', "12"),
        ("'true'", "true"),
        ("!!str 12", "12"),
        ("|\n  two\n  lines", "two\nlines\n"),
    ],
)
def test_only_null_true_false_and_whole_numbers_are_converted(written: str, meant: Any) -> None:
    assert data_of(f"key: {written}\n") == {"key": meant}


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "the file is empty"),
        ("# only a comment\n", 1, 1, "the file is empty"),
        ("---\n", 1, 1, "the file is empty"),
        ("a: 1\n---\nb: 2\n", 2, 1, "a second document begins here"),
        ("a:\n\tb: 1\n", 2, 1, "YAML indents with spaces, and this is a tab"),
        ("a: 1\nb: x\0\n", 2, 5, "the character U+0000 is not allowed in YAML"),
        ("a: \x1b[31m\n", 1, 4, "the character U+001B is not allowed in YAML"),
        ("a: \ud800\n", 1, 4, "the character U+D800 is not allowed in YAML"),
        ("a: 1\nb: 2\na: 3\n", 3, 1, "the key 'a' is there twice, first on line 1"),
        ("? [a]\n: b\n", 1, 3, "a key must be plain text"),
        ("a: !foo b\n", 1, 4, "the YAML tag !foo is not supported"),
        ("a: !!binary aGk=\n", 1, 4, "the YAML tag !!binary is not supported"),
        (
            "a: !!python/object/apply:os.system [ls]\n",
            1,
            4,
            "the YAML tag !!python/object/apply:os.system is not supported",
        ),
    ],
)
def test_what_is_no_plain_yaml_is_refused_at_its_place(
    text: str, line: int, column: int, message: str
) -> None:
    assert refused(text) == (line, column, message)


@pytest.mark.parametrize(
    "text", ["a: [1, 2\n", 'a: "open\n', "a: b: c\n", "a: *nothing\n", "%FOO\n---\na: 1\n", "@"]
)
def test_broken_syntax_is_reported_once(text: str) -> None:
    _, _, message = refused(text)
    assert message.startswith("this is not valid YAML: ")


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "- " * 30_000 + "a", "\n".join(" " * i + "a:" for i in range(2_000))]
)
def test_deep_nesting_is_refused_before_it_can_crash_the_parser(text: str) -> None:
    assert refused(text)[2] == f"values are nested more than {DEPTH_LIMIT} levels deep"


@pytest.mark.parametrize("text", ["&a [*a]\n", "a: &x\n  b: *x\n"])
def test_aliases_without_end_are_reported_once(text: str) -> None:
    assert refused(text)[2] == "the aliases (*name) in this file expand endlessly"


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9)
)


@pytest.mark.parametrize("text", [BOMB, "a: &x 1\nb: [" + "*x , " * (ALIASED_LIMIT + 1) + "]\n"])
def test_aliases_for_too_many_values_are_reported_once(text: str) -> None:
    message = refused(text)[2]
    assert message == f"the aliases (*name) in this file expand to more than {ALIASED_LIMIT} values"


def test_only_values_of_aliases_are_counted() -> None:
    count = ALIASED_LIMIT + 10
    data = data_of("a: &x 1\nb: [" + "x, " * count + "]\nc: [" + "*x , " * ALIASED_LIMIT + "]\n")
    assert (len(data["b"]), len(data["c"])) == (count, ALIASED_LIMIT)


def test_an_alias_stands_for_its_value_at_the_place_of_the_value() -> None:
    source = read("a: &zone us-west-2b\nb: *zone\n")
    assert source.data == {"a": "us-west-2b", "b": "us-west-2b"}
    assert source.where(("b",)).line == 1


def test_all_duplicates_are_reported_and_the_rest_is_read() -> None:
    source = read("a: 1\na: 2\nb: {c: 1, c: 2}\n")
    assert [problem.where.path for problem in source.problems] == ["a", "b.c"]
    assert source.data == {"a": 1, "b": {"c": 1}}


def test_every_key_and_value_has_a_place() -> None:
    source = read("network:\n  zone: us-west-2b\ngroups:\n  - name: a\n  - name: b\n")
    value = source.where(("groups", 1, "name"))
    assert (value.line, value.column, value.path) == (5, 11, "groups[1].name")
    key = source.where(("network", "zone"), key=True)
    assert (key.line, key.column) == (2, 3)


def test_what_is_missing_has_the_place_of_what_lacks_it() -> None:
    source = read("groups:\n  - name: a\n  - name: b\n")
    missing = source.where(("groups", 1, "role"))
    assert (missing.line, missing.column, missing.path) == (3, 5, "groups[1].role")


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_endings_of_every_system_are_counted_alike(ending: str) -> None:
    source = read(ending.join(("a: 1", "b: 2", "")))
    assert source.where(("b",)).line == 2


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('a: 1\nb: "open\nc: 1\n', 2, 4),
        ('a: "open\nb: "closed"\nc: 1\n', 1, 4),
        ("a: 'it is open\nb: 'closed'\n", 1, 4),
    ],
)
def test_an_open_quote_is_shown_where_it_opens(text: str, line: int, column: int) -> None:
    assert refused(text) == (
        line,
        column,
        "this is not valid YAML: the quote that opens here is not closed on its line",
    )


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: 1\nregion:us-west-2\ntags: {}\n", 2, 8),
        ("a:\n  - name: x\n    count:2\n    p: 3\n", 3, 11),
        ("a:\n  b:c\n\n  # more\n  d: 1\n", 2, 5),
    ],
)
def test_a_missing_blank_after_a_colon_is_called_that(text: str, line: int, column: int) -> None:
    assert refused(text) == (
        line,
        column,
        "this is not valid YAML: a space is missing after the colon",
    )


@pytest.mark.parametrize("text", ["a: 'it's'\n", "a: b: c\n", "a: http://x\n b: 1\n"])
def test_other_mistakes_are_neither_quotes_nor_blanks(text: str) -> None:
    _, _, message = refused(text)
    assert "quote that opens" not in message
    assert "space is missing" not in message
