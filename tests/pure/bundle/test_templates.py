from __future__ import annotations

import json
import subprocess

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmpod.bundle.templates import Unquoted, environment_for, render

HOSTILE = (
    "it's",
    'say "hi"',
    "line\nbreak",
    "$(touch /tmp/owned)",
    "`id`; rm -rf /",
    "back\\slash\\n",
    "{{ other }}",
    "</script>&amp;",
    "",
    " \t ",
    "-rf",
    "*",
    "é\u2028\U0001f600",
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def render_text(suffix: str, text: str, **values: object) -> str:
    return environment_for(suffix).from_string(text).render(values)


class TestJson:
    @pytest.mark.parametrize("value", HOSTILE)
    def test_any_text_is_read_back_as_it_was(self, value: str) -> None:
        rendered = render_text(".json", '{"key": {{ value | quote }}}', value=value)
        assert json.loads(rendered) == {"key": value}

    @given(json_values)
    def test_any_value_is_read_back_as_it_was(self, value: object) -> None:
        assert json.loads(render_text(".json", "{{ value | quote }}", value=value)) == value

    def test_keys_are_sorted_so_that_output_is_deterministic(self) -> None:
        assert render_text(".json", "{{ value | quote }}", value={"b": 1, "a": 2}) == (
            '{"a": 2, "b": 1}'
        )

    def test_a_value_that_json_cannot_say_is_refused(self) -> None:
        with pytest.raises(ValueError, match="not JSON compliant"):
            render_text(".json", "{{ value | quote }}", value=float("nan"))
        with pytest.raises(TypeError):
            render_text(".json", "{{ value | quote }}", value=object())


class TestShell:
    def test_bash_reads_any_text_back_as_one_word(self) -> None:
        template = "printf '%s\\0'{% for value in values %} {{ value | quote }}{% endfor %}"
        script = render_text(".sh", template, values=HOSTILE)
        printed = subprocess.check_output(["bash", "-c", script]).decode()
        assert printed.split("\0")[:-1] == list(HOSTILE)

    def test_a_whole_number_is_a_word(self) -> None:
        assert render_text(".sh", "sleep {{ value | quote }}", value=30) == "sleep 30"

    def test_a_nul_character_is_refused(self) -> None:
        with pytest.raises(ValueError, match="NUL"):
            render_text(".sh", "{{ value | quote }}", value="a\0b")

    @pytest.mark.parametrize("value", [True, None, ["a"], {"a": 1}])
    def test_what_is_no_word_is_refused(self, value: object) -> None:
        with pytest.raises(TypeError, match="shell word"):
            render_text(".sh", "{{ value | quote }}", value=value)


@pytest.mark.parametrize("suffix", [".json", ".sh"])
class TestEveryTemplate:
    @pytest.mark.parametrize(
        "text",
        [
            "{{ value }}",
            "{{ value | upper }}",
            "{{ value | quote | upper }}",
            "{{ 'a' ~ value | quote }}",
            "{{ 'constant' }}",
            "{% for letter in value %}{{ letter }}{% endfor %}",
        ],
    )
    def test_an_expression_without_quotes_is_refused(self, suffix: str, text: str) -> None:
        with pytest.raises(Unquoted, match="is not quoted"):
            render_text(suffix, text, value="plain")

    def test_an_undefined_name_is_refused(self, suffix: str) -> None:
        with pytest.raises(jinja2.UndefinedError, match="'missing' is undefined"):
            render_text(suffix, "{{ missing | quote }}")
        with pytest.raises(jinja2.UndefinedError, match="no attribute 'missing'"):
            render_text(suffix, "{{ value.missing | quote }}", value={})
        with pytest.raises(jinja2.UndefinedError):
            render_text(suffix, "{% if missing %}x{% endif %}")


def test_a_kind_of_file_without_quoting_rules_is_refused() -> None:
    with pytest.raises(KeyError):
        render("slurm.conf", {})
