"""Loads platform profile files into one profile with its evidence, or reports all mistakes.

A file is a mapping of values. Each value may be written plainly or as a mapping with `value`,
`source` and `confidence`; the file's own `source` and `confidence` are the defaults. The default
profile is complete; any other profile is merged over it and contains only what differs. Mappings
are merged, and `null` removes a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json

from slurmpod.environment.suggestion import did_you_mean
from slurmpod.platform_profiles.profile import Confidence, Profile
from slurmpod.problems import InvalidEnvironment, Problem, Where, YamlPath, in_file_order
from slurmpod.reading.merge import merged
from slurmpod.reading.text_file import Unreadable, read_text
from slurmpod.reading.yaml_source import YamlSource, read_yaml

DEFAULT = "ami-2026-07"
DATA = Path(__file__).with_name("data")
FACT = ("value", "source", "confidence")
"""The keys of a value with evidence."""


@dataclass(frozen=True)
class Evidence:
    """The source of a value and the confidence in it."""

    source: str
    confidence: str


@dataclass(frozen=True)
class LoadedProfile:
    """A profile with the evidence for its values, keyed by their paths in the file."""

    profile: Profile
    evidence: Mapping[YamlPath, Evidence]


def built_in() -> Mapping[str, Path]:
    """Return the files of the built-in profiles by name, the default first."""
    found = {file.stem: file for file in sorted(DATA.rglob("*.yaml"))}
    return {DEFAULT: found.pop(DEFAULT), **found}


def load(given: Sequence[str] = ()) -> LoadedProfile:
    """Return the default profile with the `given` profiles (names or files) merged over it.

    Raises:
        InvalidEnvironment: A file cannot be read or has mistakes; contains all of them.
    """
    source = YamlSource("")
    evidence: dict[YamlPath, Evidence] = {}
    for name in (DEFAULT, *given):
        plain, its_evidence = _plain(_read(name))
        source = merged(source, plain) if source.data else plain
        evidence |= its_evidence
    try:
        profile = Profile.model_validate_json(to_json(source.data))
    except ValidationError as error:
        source.problems += _in_words(error, source)
    if source.problems:
        raise InvalidEnvironment(in_file_order(source.problems))
    kept = {path: found for path, found in evidence.items() if _is_there(source.data, path)}
    return LoadedProfile(profile, kept)


def _read(name: str) -> YamlSource:
    """Return the contents of a file, or an empty mapping and the problem."""
    files = built_in()
    try:
        source = read_yaml(name, read_text(files.get(name, Path(name))))
    except Unreadable as reason:
        source = YamlSource(name, {})
        near = did_you_mean(name, files) or f"give a file, or one of {', '.join(files)}"
        source.refuse(Where(name), reason.message, near)
    if not isinstance(source.data, dict):
        if not source.problems:
            source.refuse(Where(name), "this is not a mapping", "write key: value, as in timing:")
        source.data = {}
    source.values.setdefault((), (name, 1, 1))
    return source


def _plain(source: YamlSource) -> tuple[YamlSource, Mapping[YamlPath, Evidence]]:
    """Return the values of a file without their evidence, and the evidence."""
    common = Evidence(source.data.get("source", source.file), source.data.get("confidence", ""))
    evidence: dict[YamlPath, Evidence] = {}
    plain = replace(source, values=dict(source.values))
    plain.data = {
        key: _value(plain, (key,), inner, common, evidence) for key, inner in source.data.items()
    }
    return plain, evidence


def _value(
    source: YamlSource,
    path: YamlPath,
    data: Any,
    common: Evidence,
    evidence: dict[YamlPath, Evidence],
) -> Any:
    if isinstance(data, dict) and "value" not in data:
        return {
            key: _value(source, (*path, key), inner, common, evidence)
            for key, inner in data.items()
        }
    if not isinstance(data, dict):
        evidence[path] = common
        return data
    for place, message, fix in _mistakes(data):
        source.refuse(source.where((*path, place)), message, fix, rule="ENV-004")
    evidence[path] = Evidence(
        data.get("source", common.source), data.get("confidence", common.confidence)
    )
    depth = len(path)
    for inner, position in list(source.values.items()):
        if inner[: depth + 1] == (*path, "value"):
            source.values[*path, *inner[depth + 1 :]] = position
    return data["value"]


def _mistakes(fact: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the key, the problem and the fix for each mistake in a value's evidence."""
    for key in fact:
        if key not in FACT:
            fix = did_you_mean(key, FACT) or f"allowed here: {', '.join(FACT)}"
            yield key, f"unknown key '{key}' next to a value", fix
    if not isinstance(fact.get("source", ""), str):
        yield "source", "the source is not text", "say where the value comes from"
    confidence = fact.get("confidence", Confidence.DOUBTFUL)
    if confidence not in tuple(Confidence):
        yield "confidence", f"'{confidence}' is not one of the choices", _CHOICES


_CHOICES = f"write one of {', '.join(Confidence)}"


def _in_words(error: ValidationError, source: YamlSource) -> Sequence[Problem]:
    from slurmpod.reading.phrases import phrase  # only needed on mistakes

    return [phrase(detail, source, Profile) for detail in error.errors(include_url=False)]


def _is_there(data: Any, path: YamlPath) -> bool:
    for part in path:
        if not isinstance(data, dict) or part not in data:
            return False
        data = data[part]
    return True
