"""Options of sbatch and srun, read from words as getopt_long(3) reads them.

Source of the names: sbatch(1), srun(1), and NVIDIA's pyxis for --container-*.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slurmpod.jobs.variables import holds_options, is_unknown, values_of
from slurmpod.jobs.words import words_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slurmpod.jobs.variables import Values
    from slurmpod.jobs.words import Place, Word

SHORT_NAMES = """
    A=account B=extra-node-info C=constraint D=chdir G=gpus H=hold I=immediate J=job-name
    K=kill-on-bad-exit L=licenses M=clusters N=nodes O=overcommit Q=quiet S=core-spec
    T=threads V=version W=wait X=disable-status Z=no-allocate a=array b=begin
    c=cpus-per-task d=dependency e=error h=help i=input k=no-kill l=label m=distribution
    n=ntasks o=output p=partition q=qos r=relative s=oversubscribe t=time u=unbuffered
    v=verbose w=nodelist x=exclude
"""
SHORT = dict(pair.split("=") for pair in SHORT_NAMES.split())
FLAGS = frozenset(
    {
        *(
            "bcast",
            "contiguous",
            "disable-status",
            "exact",
            "exclusive",
            "external",
            "get-user-env",
        ),
        *("help", "hold", "ignore-pbs", "immediate", "kill-on-bad-exit", "label", "multi-prog"),
        *("nice", "no-allocate", "no-kill", "no-requeue", "overcommit", "overlap", "oversubscribe"),
        *("parsable", "propagate", "pty", "quiet", "reboot", "requeue", "send-libs", "spread-job"),
        *("stepmgr", "test-only", "unbuffered", "usage", "use-min-nodes", "verbose", "version"),
        *("container-mount-home", "no-container-mount-home", "container-remap-root"),
        *("no-container-remap-root", "container-writable", "container-readonly"),
        *("container-entrypoint", "no-container-entrypoint"),
    }
)
"""Options that take no value, or one behind `=` only."""

SBATCH_FLAGS = FLAGS | {"wait"}


@dataclass(frozen=True)
class Option:
    """One option under its long name; `value` is "" for one that was given none."""

    name: str
    value: str
    place: Place


@dataclass(frozen=True)
class Parsed:
    """Options, and the words behind them.

    `is_certain` is False where something may be options, and nobody knows which.
    """

    options: tuple[Option, ...]
    rest: tuple[Word, ...]
    is_certain: bool


def parse_options(words: Sequence[Word], flags: frozenset[str], values: Values) -> Parsed:
    """Read options up to the first word that is none.

    `values` has what the script assigns to variables: one that holds options is replaced by them,
    by all that it holds at any time.
    """
    waiting = deque((word, False) for word in words)
    options: list[Option] = []
    while waiting:
        word, is_replaced = waiting.popleft()
        if word.text.startswith("-") and word.text not in ("-", "--"):
            options += _options_of(word, waiting, flags)
            continue
        held = None if is_replaced else values_of(word, values)
        if held is not None and holds_options(held):
            waiting.extendleft((each, True) for each in reversed(_all_words(held, word.place)))
            continue
        rest = () if is_replaced else (word, *(each for each, _ in waiting))
        unknown = is_unknown((word.text,) if held is None else held)
        return Parsed(tuple(options), rest, is_certain=not unknown)
    return Parsed(tuple(options), (), is_certain=True)


def _options_of(
    word: Word, waiting: deque[tuple[Word, bool]], flags: frozenset[str]
) -> Iterable[Option]:
    """Return the options of one word; the value of the last may be the next word."""
    text = word.text
    if text.startswith("--"):
        name, equals, value = text[2:].partition("=")
        if not equals and name not in flags and waiting:
            value = waiting.popleft()[0].text
        return [Option(name, value, word.place)]
    options: list[Option] = []
    for index, letter in enumerate(text[1:], start=2):
        name = SHORT.get(letter, letter)
        if name not in flags:
            value = text[index:] or (waiting.popleft()[0].text if waiting else "")
            return [*options, Option(name, value.removeprefix("="), word.place)]
        options.append(Option(name, "", word.place))
    return options


def _all_words(held: Iterable[str], place: Place) -> list[Word]:
    return [word for value in held for word in words_in(value, place)]
