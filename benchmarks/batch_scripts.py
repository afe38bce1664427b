"""Thousands of batch scripts, with values that sbatch accepts and others that it rejects.

A seed always gives the same scripts. They cover every option of sbatch whose values have a known
format, and the options that request something by name.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from slurmpod.jobs.options import KnownOption, options_of

COUNTS = ("1", "2", "2", "3", "4", "5", "8", "9", "16", "17", "96", "193", "400")
GPUS = ("1", "2", "8", "9", "16", "17", "h100:1", "0")
NO_GPUS = ("x:y", "gpu:1", "-1", "1.5")
BY_KIND: Mapping[str, tuple[str, ...]] = {
    "positive": COUNTS,
    "whole": ("0", "1", "2", "4", "96"),
    "time": ("10", "1-0", "1-00:00:01", "2-0", "3-0", "UNLIMITED", "0", "30:00", "23:59:59"),
    "memory": ("0", "1G", "4G", "8G", "16G", "17G", "33G", "64G", "2T", "3T", "200M", "16384"),
    "nodes": ("1", "1", "2", "3", "1-2", "4", "1-9", "5-6", "1,2"),
    "moment": ("now+1minute", "now+1hour", "now+5minutes", "now+2days", "16:00", "2099-01-31"),
    "array": ("0-9", "0-1000", "0-1001", "1,2", "0-9%2", "0-9:3", "1-1"),
    "dependency": ("singleton",),
    "mail": ("END", "BEGIN,FAIL", "ALL", "TIME_LIMIT_80", "end"),
    "distribution": ("block", "cyclic:block", "plane=2", "arbitrary", "pack"),
    "signal": ("USR1@60", "B:TERM", "10@120", "TERM"),
    "gpus": GPUS,
    "task-gpus": GPUS,
    "gres": ("gpu:1", "gpu:8", "gpu:9", "gpu:h100:1", "none", "gpu", "gpu:0", "gpu=2"),
}
"""Values for each kind in the table of options: some that nodes have, and some beyond any node."""

NONSENSE: Mapping[str, tuple[str, ...]] = {
    "positive": ("0", "-1", "x", "1.5", "2k"),
    "whole": ("-1", "x"),
    "time": ("1:2:3:4", "24h", "1-", "x"),
    "memory": ("5X", "1.5G", "x", "-1", "1GB", "1GiB"),
    "nodes": ("2-1", "x", "0", "1-", "1k"),
    "moment": ("xx", "25:00", "now-1hour", "tomorrow", "1999-01-01"),
    "array": ("5-2", "a", "1-", "%2", ""),
    "dependency": ("afterok:x", "afterok", "foo:1", "afterok:1:y"),
    "mail": ("FOO", "END FAIL"),
    "distribution": ("x", "plane", "block:x"),
    "signal": ("FOO", "B:USR1@70000", "@60", "0"),
    "gpus": NO_GPUS,
    "task-gpus": NO_GPUS,
    "gres": ("foo:1", "gpu:x", "gpu:-1"),
    "choice": ("x",),
}
"""Values that sbatch usually rejects immediately."""

BY_NAME: Mapping[str, tuple[str, ...]] = {
    "constraint": ("h100", "gpu", "a&b"),
    "prefer": ("h100",),
    "licenses": ("matlab", "matlab:2"),
    "nodelist": ("foo", "ip-10-9-9-9"),
    "exclude": ("foo",),
    "job-name": ("train",),
    "output": ("/fsx/%j.out", "%x-%j.out"),
    "switches": ("1", "1@10:00"),
    "extra-node-info": ("1", "2", "1:2", "2:2:1", "*:2", "*:*:1", "2:48", "1:4:2"),
}
"""Values of options that accept any text."""

WITHOUT_VALUE = ("hold", "requeue", "no-requeue", "overcommit", "oversubscribe", "contiguous")
PARTITIONS = ("cpu", "cpu", "p5", "p5", "dev", "big", "cpu,p5", "p5,cpu", "nosuch")
ACCOUNTS = ("vision", "vision", "language", "language", "Vision", "nosuch", "")
QOS = (
    "normal",
    "urgent",
    "urgent",
    "spare",
    "spare",
    "Urgent",
    "nosuch",
    "",
    "normal,urgent",
    "spare,x",
)
WRONG = ("--foo=1", "--ntask-per-node=2", "--nod=1", "--gpu=1", "-Z", "--mem = 1G", "--hold=yes")
HOW_MANY = (1, 1, 2, 2, 2, 3, 4)
ODDS_OF_A_WRONG_WORD = 40
ODDS_OF_NO_PARTITION = 20
ODDS_OF_AN_ACCOUNT = 4
ODDS_OF_NONSENSE = 15


def batch_scripts(count: int, seed: int) -> Iterator[str]:
    """Yield `count` scripts; a smaller count yields the first ones of a larger count."""
    choice = random.Random(seed)  # noqa: S311  # reproducible
    options = _options()
    for _ in range(count):
        words = (
            [] if _once_in(ODDS_OF_NO_PARTITION, choice) else ["-p " + choice.choice(PARTITIONS)]
        )
        chosen = choice.sample(sorted(options), choice.choice(HOW_MANY))
        words += [_written(options[name], choice) for name in chosen]
        words += _account_and_qos(choice)
        if _once_in(ODDS_OF_A_WRONG_WORD, choice):
            words.append(choice.choice(WRONG))
        choice.shuffle(words)
        lines = "".join(f"#SBATCH {word}\n" for word in words)
        yield f"#!/bin/bash\n{lines}\nsrun hostname\n"


def _options() -> dict[str, KnownOption]:
    """Return the options that have values here."""
    return {
        name: option
        for name, option in options_of("sbatch").items()
        if option.words or option.kind in BY_KIND or name in {*BY_NAME, *WITHOUT_VALUE}
    }


def _account_and_qos(choice: random.Random) -> Iterator[str]:
    known = options_of("sbatch")
    for name, values in (("account", ACCOUNTS), ("qos", QOS)):
        if _once_in(ODDS_OF_AN_ACCOUNT, choice):
            yield _with_value(known[name], choice.choice(values), choice)


def _written(option: KnownOption, choice: random.Random) -> str:
    """Return an option with a value, in one of its usual spellings."""
    if option.argument("sbatch") == "none":
        return f"--{option.name}"
    if option.argument("sbatch") == "optional" and choice.random() < 1 / 2:
        return f"--{option.name}"
    values = option.words or BY_KIND.get(option.kind) or BY_NAME[option.name]
    if option.kind in NONSENSE and _once_in(ODDS_OF_NONSENSE, choice):
        values = NONSENSE[option.kind]
    return _with_value(option, choice.choice(values), choice)


def _with_value(option: KnownOption, value: str, choice: random.Random) -> str:
    forms = [f"--{option.name}={value}", f"--{option.name}={value}"]
    if option.argument("sbatch") == "required":
        forms.append(f"--{option.name} {value}")
        forms += [f"-{option.short} {value}", f"-{option.short}{value}"] if option.short else []
    return choice.choice(forms)


def _once_in(odds: int, choice: random.Random) -> bool:
    return choice.randrange(odds) == 0
