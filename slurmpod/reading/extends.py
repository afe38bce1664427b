"""`extends: _base.yaml`: an environment file on top of another file, which may do the same.

This module finds and reads the bases; `merge` combines two files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from slurmpod.environment.suggestion import did_you_mean
from slurmpod.reading.merge import merged, without_base
from slurmpod.reading.text_file import Unreadable, read_text
from slurmpod.reading.yaml_source import YamlSource, read_yaml

EXTENDS = "extends"

CHAIN_LIMIT = 10
"""Limit of the chain of bases, so that people can follow it."""

PART_PREFIX = "_"
"""Prefix of files that only serve as a base."""

SUFFIXES = (".yaml", ".yml")

IDENTITY = ("name", "account", "region")
"""Fields that identify a cluster (rule ENV-005)."""


def environment_files(folder: Path) -> list[Path]:
    """Return the environments in a folder, sorted; bases such as `_base.yaml` are left out."""
    files = (file for file in folder.iterdir() if file.suffix in SUFFIXES)
    return sorted(file for file in files if not _is_part(file))


def with_bases(source: YamlSource) -> YamlSource:
    """Return `source` merged with its bases, or itself without `extends`.

    If a base cannot be read, the result has no data, but all problems found.
    """
    chain = [source]
    try:
        while base := _base(chain):
            chain.append(base)
    except Unreadable as reason:
        where = chain[-1].where((EXTENDS,))
        chain[-1].refuse(where, reason.message, reason.fix, rule="ENV-006")
        return _without_data(chain)
    return _without_data(chain) if chain[-1].data is None else _merged(chain)


def _base(chain: Sequence[YamlSource]) -> YamlSource | None:
    """Return the base of the last file of the chain, or None.

    Raises:
        Unreadable: It extends a file that cannot be a base.
    """
    last = chain[-1]
    if not isinstance(last.data, dict) or EXTENDS not in last.data:
        return None
    path = _path(last.data[EXTENDS], Path(last.file))
    if len(chain) > CHAIN_LIMIT:
        raise Unreadable(
            f"more than {CHAIN_LIMIT} files extend each other in a chain", "merge some of them"
        )
    text = _text(path, Path(last.file))
    _refuse_circle([*(file.file for file in chain), str(path)])
    base = read_yaml(str(path), text)
    if isinstance(base.data, dict | None):
        return base
    raise Unreadable(f"{path} holds no settings", "extend a file with a mapping (key: value)")


def _path(written: object, file: Path) -> Path:
    if not isinstance(written, str) or not written:
        raise Unreadable(
            "extends takes the path of one file",
            "write a path relative to this file's folder, such as _base.yaml",
        )
    if Path(written).is_absolute():
        raise Unreadable(
            f"the path {written} would mean another file on other machines",
            "write it relative to this file's folder, such as ../shared/_base.yaml",
        )
    return file.parent / written


def _text(path: Path, file: Path) -> str:
    with suppress(OSError):  # read_text reports it better
        if not path.exists():
            near = did_you_mean(path.name, _names_beside(path, file))
            fix = near or "correct the path, which is relative to this file's folder"
            raise Unreadable(f"there is no file {path}", fix)
        if not path.is_file():
            raise Unreadable(f"{path} is not a file", "extend a YAML file")
    try:
        return read_text(path)
    except Unreadable as reason:
        raise Unreadable(f"{path}: {reason.message}", reason.fix) from reason


def _names_beside(path: Path, file: Path) -> Sequence[str]:
    with suppress(OSError, ValueError):
        beside = (other for other in path.parent.iterdir() if other.suffix in SUFFIXES)
        return sorted(other.name for other in beside if other != file)
    return ()


def _refuse_circle(files: Sequence[str]) -> None:
    *others, last = (Path(file).resolve() for file in files)
    if last in others:
        circle = " -> ".join(files[others.index(last) :])
        raise Unreadable(
            f"the files extend each other in a circle: {circle}", "extend another file, or none"
        )


def _without_data(chain: Iterable[YamlSource]) -> YamlSource:
    first, *_ = files = list(chain)
    return YamlSource(first.file, problems=[found for file in files for found in file.problems])


def _merged(chain: Sequence[YamlSource]) -> YamlSource:
    *extending, last = chain
    result = without_base(last)
    bases = []
    for source in reversed(extending):
        bases.append(result)
        own = {key: value for key, value in source.data.items() if key != EXTENDS}
        result = merged(result, replace(source, data=own))
        if (EXTENDS,) in source.doubtful:
            result.doubtful.add(())
    _refuse_same_cluster(chain[0], result, bases)
    return result


def _refuse_same_cluster(
    source: YamlSource, result: YamlSource, bases: Iterable[YamlSource]
) -> None:
    """Report that deploying `result` would change the cluster of one of its bases."""
    for base in bases:
        if _is_part(Path(base.file)) or _is_part(Path(source.file)):
            continue
        if None not in _identity(base) and _identity(base) == _identity(result):
            message = f"this is the cluster '{base.data['name']}' that {base.file} describes"
            fix = "give this environment another name"
            result.refuse(source.where((EXTENDS,)), message, fix, rule="ENV-005")


def _identity(source: YamlSource) -> list[Any]:
    return [source.data.get(key) for key in IDENTITY]


def _is_part(file: Path) -> bool:
    return file.name.startswith(PART_PREFIX)
