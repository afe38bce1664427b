"""The parameters of slurm.conf: those that users may set, their form, and the owners of the others.

`data/slurm_parameters.csv` has every parameter that Slurm 24.11 to 26.05 reads; HyperPod's image
has 24.11 and 25.11. A word may have the version that brought it (`word@25.11`) and the first one
without it (`word<26.05`). Names, forms and ranges are those of slurm.conf(5), and a test holds them
against the slurmctld of 24.11 and 26.05. Who owns a parameter follows the HyperPod guide (what its
agents write) and our own lifecycle scripts.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Literal, cast

from slurmpod.value import Value

Owner = Literal["user", "hyperpod", "slurmpod", "gone", "elsewhere"]
Kind = Literal[
    "",
    "number",
    "yes_no",
    "time",
    "period",
    "choice",
    "list",
    "options",
    "plugin",
    "plugins",
    "program",
    "path",
    "folders",
    "licenses",
    "weights",
    "exit_codes",
    "frequencies",
    "ports",
    "text",
]

YES_OR_NO = frozenset({"yes", "no", "up", "down", "true", "false", "1", "0"})
"""Slurm's booleans, in any case."""

TIME = r"UNLIMITED|INFINITE|\d+|\d+:\d\d(:\d\d)?|\d+-\d\d?(:\d\d(:\d\d)?)?"
"""minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes[:seconds]."""

PERIOD = rf"(?!UNLIMITED|INFINITE)({TIME})"
"""A finite time."""

WHOLE_NUMBER = r"-?[0-9]{1,10}"

PATH = r"(/[A-Za-z0-9._%+-]+)+"

FOLDERS = r"NONE|/[^\s,]*(,/[^\s,]*)*"

_LICENSE = r"[^\s,;:=]+([:=][0-9]+)?"
LICENSES = rf"{_LICENSE}([,;]{_LICENSE})*"

WEIGHT = r"(?P<resource>[a-z]+(/[a-z0-9_:.-]+)?)=[0-9]*\.?[0-9]+[kmgtp]?"
"""One resource with its weight: cpu=1, mem=0.25G, gres/gpu=8."""

EXIT_CODES = r"(?P<first>[0-9]{1,3})(-(?P<last>[0-9]{1,3}))?"
LARGEST_EXIT_CODE = 255

_FREQUENCY = r"(task|energy|network|filesystem)=[0-9]{1,9}"
FREQUENCIES = rf"[0-9]{{1,9}}|{_FREQUENCY}(,\s*{_FREQUENCY})*"

PORTS = r"(?P<first>[0-9]{1,5})-(?P<last>[0-9]{1,5})"
LARGEST_PORT = 65535


def in_form(form: str, value: str) -> re.Match[str] | None:
    """Match a whole value against one of the forms above; Slurm ignores case."""
    return re.fullmatch(form, value, re.IGNORECASE)


class Parameter(Value):
    """One parameter of slurm.conf.

    `least` and `most` are for numbers, `words` for numbers that have a name too, choices, lists,
    plugins that come with Slurm, and options: `bf_interval=N` takes a number, `bf_hetjob_prio=max`
    this value, `delay_boot=` any. `since` is the version that brought it, where that is not in
    every image, `words_since` that of a word, and `words_until` the first one without a word, both
    in lower case. `why` gives the alternative for parameters that users may not set, or that belong
    in other files.
    """

    name: str
    owner: Owner
    kind: Kind
    least: int
    most: int
    words: tuple[str, ...]
    since: str
    why: str
    words_since: Mapping[str, str]
    words_until: Mapping[str, str]

    @property
    def source(self) -> str:
        """The manual page that describes it."""
        return f"https://slurm.schedmd.com/slurm.conf.html#OPT_{self.name}"

    def expected(self, value: str) -> str:
        """Return a description of the allowed values if `value` is not one; otherwise nothing."""
        if self.kind == "number":
            return "" if self._takes_number(value) else self._numbers()
        if self.kind == "choice":
            return "" if self._knows(value) else f"one of {', '.join(self.words)}"
        if self.kind == "list":
            unknown = [word for word in value.split(",") if not self._knows(word)]
            return f"a list of {', '.join(self.words)}, with commas" if unknown else ""
        if self.kind == "plugin":
            prefix = f"{self.words[0].partition('/')[0]}/"
            return "" if value.startswith(prefix) else f"a plugin such as {self.words[-1]}"
        takes, meaning = FORMS.get(self.kind, (bool, ""))
        return "" if takes(value) else meaning

    def options(self, value: str) -> list[str]:
        """Return the words of a list; behind a colon, MCSParameters names what the plugin takes."""
        words = value.partition(":")[0] if self.name == "MCSParameters" else value
        return [word.strip() for word in words.split(",") if word.strip()]

    def option_problem(self, option: str) -> str:
        """Return the mistake in one of several options, or nothing.

        Slurm silently ignores unknown options.
        """
        name, has_value, value = option.partition("=")
        values = [each[1:] for each in self._forms_of(name)]
        if not values:
            return f"Slurm knows no '{name}' in {self.name}"
        if ("", "") in values and not has_value:
            return ""
        if ("=", "N-N") in values:
            is_range = _is_port_range(value)
            return "" if is_range else f"'{name}' takes a range of ports, such as {name}={A_RANGE}"
        wanted = [form for _equals, form in values if form not in {"", "N"}]
        if not (has_value and value):
            return f"'{name}' needs a value, such as {name}={wanted[0] if wanted else 10}"
        if wanted and value.lower() not in wanted:
            return f"'{name}' takes {', '.join(wanted)}, not '{value}'"
        takes_number = values[0][1] == "N"
        return (
            f"'{name}' takes a whole number, not '{value}'"
            if takes_number and not in_form(WHOLE_NUMBER, value)
            else ""
        )

    @property
    def option_names(self) -> tuple[str, ...]:
        """Return the names of the options, without their values."""
        return tuple(dict.fromkeys(word.partition("=")[0] for word in self.words))

    def _forms_of(self, name: str) -> list[tuple[str, str, str]]:
        forms = (word.partition("=") for word in self.words)
        return [form for form in forms if form[0].lower() == name.lower()]

    def _takes_number(self, value: str) -> bool:
        if re.fullmatch(r"[0-9]{1,20}", value, re.ASCII):
            return self.least <= int(value) <= self.most
        return self._knows(value)

    def _numbers(self) -> str:
        named = "".join(f", or {word}" for word in self.words)
        return f"a whole number from {self.least} to {self.most}{named}"

    def _knows(self, word: str) -> bool:
        return word.lower() in {known.lower() for known in self.words}


def weighted_resources(value: str) -> list[str] | None:
    """Return the resources, in lower case, to which a list gives weights; None if it is no list."""
    found = [in_form(WEIGHT, each) for each in value.split(",")]
    resources = [each["resource"].lower() for each in found if each]
    return resources if len(resources) == len(found) else None


def _is_port_range(value: str) -> bool:
    found = in_form(PORTS, value)
    return found is not None and 0 < int(found["first"]) < int(found["last"]) <= LARGEST_PORT


def _are_exit_codes(value: str) -> bool:
    found = [in_form(EXIT_CODES, each.strip()) for each in value.split(",")]
    ranges = [(int(each["first"]), int(each["last"] or each["first"])) for each in found if each]
    is_sound = all(first <= last <= LARGEST_EXIT_CODE for first, last in ranges)
    return is_sound and len(ranges) == len(found)


A_RANGE = "60001-63000"

FORMS: Mapping[str, tuple[Callable[[str], object], str]] = {
    "yes_no": (lambda value: value.lower() in YES_OR_NO, "YES or NO"),
    "time": (partial(in_form, TIME), "a time such as 30, 12:00:00 or 7-00:00:00"),
    "period": (partial(in_form, PERIOD), "a finite time, such as 5 or 12:00:00"),
    "program": (partial(in_form, PATH), "an absolute path"),
    "path": (partial(in_form, PATH), "an absolute path"),
    "folders": (
        partial(in_form, FOLDERS),
        "NONE, or a list of absolute paths such as /lib,/usr/lib",
    ),
    "licenses": (
        partial(in_form, LICENSES),
        "a list of names with numbers, such as matlab:4,fluent:2",
    ),
    "weights": (
        lambda value: weighted_resources(value) is not None,
        "a list of resources with weights, such as cpu=1,mem=0.25G",
    ),
    "exit_codes": (
        _are_exit_codes,
        f"a list of exit codes up to {LARGEST_EXIT_CODE}, such as 1,10-19",
    ),
    "frequencies": (
        partial(in_form, FREQUENCIES),
        "seconds, or a list of them for task, energy, network and filesystem (task=30,energy=60)",
    ),
    "ports": (
        _is_port_range,
        f"a range of ports up to {LARGEST_PORT}, such as {A_RANGE}",
    ),
}
"""The check of each kind of value, and its description."""


_WORD = re.compile(r"(?P<word>[^@<]+)(@(?P<since>[0-9.]+))?(<(?P<until>[0-9.]+))?")


@cache
def slurm_parameters() -> Mapping[str, Parameter]:
    """Return every parameter by its name in lower case: slurm.conf is case-insensitive."""
    file = Path(__file__).parents[1] / "data" / "slurm_parameters.csv"
    with file.open(encoding="utf-8") as rows:
        parameters = [_parameter(row) for row in csv.DictReader(rows)]
    return MappingProxyType({parameter.name.lower(): parameter for parameter in parameters})


def _parameter(row: dict[str, str]) -> Parameter:
    words = [_WORD.fullmatch(word) for word in row["words"].split()]
    known = [match for match in words if match]
    return Parameter(
        name=row["name"],
        owner=cast("Owner", row["owner"]),
        kind=cast("Kind", row["kind"]),
        least=int(row["least"] or 0),
        most=int(row["most"] or 0),
        words=tuple(match["word"] for match in known),
        since=row["since"],
        why=row["why"],
        words_since=_versions(known, "since"),
        words_until=_versions(known, "until"),
    )


def _versions(words: Sequence[re.Match[str]], which: str) -> Mapping[str, str]:
    """Return the versions in words, by the words in lower case."""
    return MappingProxyType(
        {match["word"].removesuffix("=N").lower(): match[which] for match in words if match[which]}
    )
