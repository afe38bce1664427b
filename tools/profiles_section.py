"""The profiles of the platform as Markdown: a section of docs/fidelity.md."""

from __future__ import annotations

from typing import Any

from slurmpod.platform_profiles.loading import DEFAULT, LoadedProfile, built_in, load
from slurmpod.problems import YamlPath, format_path
from tools.marked_part import with_part

BEGIN = "<!-- profiles: generated from slurmpod/platform_profiles/data by `make golden` -->"
END = "<!-- end of profiles -->"
HEADER = ("about", "source", "confidence")


def with_profiles(page: str) -> str:
    """Return a page with the text between its two marks regenerated."""
    return with_part(page, BEGIN, END, f"\n\n{_tables()}\n\n")


def _tables() -> str:
    """Return the list of profiles, and every value of the default one with its evidence."""
    default = load()
    return "\n".join(
        (
            "| profile | contents | values that differ from the default |",
            "|---|---|---|",
            *(_profile_row(name, default) for name in built_in()),
            "",
            f"The values of `{DEFAULT}`:",
            "",
            "| place | value | certainty | source |",
            "|---|---|---|---|",
            *(_value_row(place, default) for place in _places(default)),
        )
    )


def _profile_row(name: str, default: LoadedProfile) -> str:
    loaded = load([name])
    places = dict.fromkeys((*_places(default), *_places(loaded)))
    differing = [
        f"`{format_path(place)}`: {_shown(loaded, place)}"
        for place in places
        if _value(loaded, place) != _value(default, place)
    ]
    return f"| `{name}` | {loaded.profile.about} | {'; '.join(differing) or 'none'} |"


def _value_row(place: YamlPath, loaded: LoadedProfile) -> str:
    evidence = loaded.evidence[place]
    cells = (f"`{format_path(place)}`", _shown(loaded, place), evidence.confidence, evidence.source)
    return f"| {' | '.join(cells)} |"


def _places(loaded: LoadedProfile) -> list[YamlPath]:
    return [place for place in loaded.evidence if place[0] not in HEADER]


def _value(loaded: LoadedProfile, place: YamlPath) -> Any:
    found: Any = loaded.profile.model_dump(mode="json")
    for part in place:
        found = found.get(part)
    return found


def _shown(loaded: LoadedProfile, place: YamlPath) -> str:
    value = _value(loaded, place)
    if value is None:
        return "removed"
    if isinstance(value, list):
        value = ", ".join(value)
    if isinstance(value, str) and "\n" in value:
        return f"{len(value.splitlines())} lines"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`" if value != "" else ""
