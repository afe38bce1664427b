"""Values of the README's examples that were left in an environment: valid, but placeholders."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slurmpod.problems import Where, YamlPath
from slurmpod.reading.yaml_source import YamlSource

PLACEHOLDER = re.compile(
    r"123456789012|\bexample\.(com|org|net)\b|@[\w.-]+\.(example|invalid|test)\b"
    r"|@(your|my)?[-_]?(company|domain|organi[sz]ation|org)\.(com|org|net|io)\b"
    r"|(?<![a-z])(change|replace)[-_]?me(?![a-z])|(?<![a-z])your[-_]?(e?mail|bucket|name|team)\b",
    re.IGNORECASE,
)
"""The account of AWS's documentation, the domains that RFC 2606 reserves for examples, and words
that guides use as placeholders.
"""


def placeholders(source: YamlSource) -> Iterator[tuple[Where, str]]:
    """Yield the path of every text with a placeholder, and the placeholder."""
    yield from _inside(source, (), source.data)


def _inside(source: YamlSource, path: YamlPath, value: object) -> Iterator[tuple[Where, str]]:
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _inside(source, (*path, key), inner)
    elif isinstance(value, str) and (found := PLACEHOLDER.search(value)):
        yield source.where(path), found.group()
