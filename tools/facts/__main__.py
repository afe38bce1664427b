"""Print differences between facts and AWS: `python -m tools.facts [--packages FOLDER]`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from slurmpod.environment.facts import Fact, facts
from tools.facts.compare import Difference, differences
from tools.facts.newest import newest_packages
from tools.facts.published import Published
from tools.facts.touched import touched

SHOWN = 8
"""The number of names of one kind that are listed; the rest are counted."""


def main(arguments: Sequence[str]) -> int:
    """Compare with the packages in a folder, or with the newest; return 1 if something differs."""
    parser = argparse.ArgumentParser(prog="python -m tools.facts", description=__doc__)
    parser.add_argument("--packages", type=Path, help="a folder with botocore and cfn-lint")
    options = parser.parse_args(arguments)
    if options.packages:
        return report(options.packages)
    with newest_packages() as folder:
        return report(folder)


def report(folder: Path) -> int:
    """Print differences from the packages in a folder, and the facts that are not compared."""
    found = list(differences(facts().values(), Published(folder)))
    sys.stdout.writelines(f"{line}\n" for line in _report(found, folder))
    return 1 if found else 0


def _report(found: Sequence[Difference], folder: Path) -> Iterator[str]:
    for each in found:
        yield from _lines(each)
    others = [each for each in facts().values() if not each.checked_against]
    compared = len(facts()) - len(others)
    yield f"{compared} facts compared with {_versions(folder)}: {len(found)} differ"
    yield "published for people only, so not compared:"
    yield from (f"  {_title(each)}" for each in others)


def _lines(difference: Difference) -> Iterator[str]:
    yield _title(difference.fact)
    for label, values in (("new", difference.new), ("gone", difference.gone)):
        if values:
            yield f"  {label}: {_some(values)}"
    for kind, names in touched(difference).items():
        yield f"  {kind}: {_some(names)}"


def _title(of: Fact) -> str:
    return f"{of.name} ({of.when}, {of.source})"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _versions(folder: Path) -> str:
    folders = (each.name for each in sorted(folder.glob("*.dist-info")))
    found = (re.fullmatch(r"(botocore|cfn_lint)-(.+)\.dist-info", name) for name in folders)
    return " and ".join(f"{each[1]} {each[2]}" for each in found if each)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
