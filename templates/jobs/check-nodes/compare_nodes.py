"""Print the findings of all nodes as one table, and name the nodes that deviate.

A node deviates if a finding is bad, if it has no result, or if a check ends differently than on
most nodes: then it has a fault that no catalog knows of. Exits with status 1 if there is such a
node. `nodes.json` in the folder of results has everything for programs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

GOOD, BAD = "good", "bad"
SILENT = "it has not said anything: see what srun says of it above"
Findings = Mapping[str, Mapping[str, str]]
"""The verdict and the detail of each check."""


def main(options: argparse.Namespace) -> int:
    """Print the table and the deviations; return the exit status."""
    nodes = options.nodes.split(",")
    found = {node: _read(options.results / f"{node}.json") for node in nodes}
    deviations = {node: list(deviations_of(node, found)) for node in nodes}
    print("\n".join(table(found)))
    for node, reasons in deviations.items():
        print("".join(f"{node} deviates: {reason}\n" for reason in reasons), end="")
    data = {node: {"checks": found[node], "deviations": deviations[node]} for node in nodes}
    (options.results / "nodes.json").write_text(json.dumps(data, indent=2) + "\n")
    deviating = sum(map(bool, deviations.values()))
    print(f"{deviating} of {len(nodes)} nodes deviate" if deviating else "no node deviates")
    return 1 if deviating else 0


def deviations_of(node: str, found: Mapping[str, Findings]) -> Iterator[str]:
    """Yield the faults of a node, by themselves or compared with the others."""
    if not found[node]:
        yield SILENT
    for check, finding in found[node].items():
        verdict = finding["verdict"]
        usual = _usual(check, found)
        if verdict == BAD:
            yield f"{check}: {finding['detail']}"
        elif verdict not in (GOOD, usual):
            yield f"{check}: {finding['detail']} (on most nodes it is {usual})"


def table(found: Mapping[str, Findings]) -> Iterator[str]:
    """Yield a table with a line for each node; then the findings that are only reported."""
    checks = list(dict.fromkeys(check for findings in found.values() for check in findings))
    rows = [["node", *checks]]
    for node, findings in found.items():
        rows.append(
            [node, *(findings[each]["verdict"] if each in findings else "-" for each in checks)]
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(
            f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)
        ).rstrip()
    yield from _told(found)


def _told(found: Mapping[str, Findings]) -> Iterator[str]:
    details: dict[str, list[str]] = {}
    for node, findings in found.items():
        for check, finding in findings.items():
            if finding["verdict"] not in (GOOD, BAD):
                details.setdefault(f"{check}: {finding['detail']}", []).append(node)
    for detail, nodes in details.items():
        yield f"reported by {_first_of(nodes)}: {detail}"


def _first_of(nodes: Sequence[str], most: int = 3) -> str:
    more = len(nodes) - most
    return ", ".join(nodes[:most]) + (f" and {more} more" if more > 0 else "")


def _usual(check: str, found: Mapping[str, Findings]) -> str:
    """Return the verdict of most nodes."""
    verdicts = Counter(each[check]["verdict"] for each in found.values() if check in each)
    return verdicts.most_common(1)[0][0]


def _read(file: Path) -> Findings:
    try:
        findings: Findings = json.loads(file.read_text())
    except OSError:
        return {}
    return findings


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--results", type=Path, required=True, help="folder with the results")
    parser.add_argument("--nodes", required=True, help="comma-separated names of all nodes")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(_options()))
