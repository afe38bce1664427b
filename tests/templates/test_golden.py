"""The templates of all environments, to read in a review: six whole, of the others a table.

The six have nearly every property that any template has; a table has what would be lost with a
stack. Refresh them with `make golden` or `pytest tests/templates --update-golden`; read the diff.
What differs between checkouts of the same design is replaced: account, asset hashes, bundle digest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from tests.golden_files import ROOT, assert_matches
from tests.templates.synthesis import Synthesized

GOLDEN = ROOT / "tests" / "cases" / "golden" / "templates"
ASSET_HASH = re.compile(r"\b[0-9a-f]{64}\b")
WHOLE = ("dev", "data-lake", "extended", "recorded-sessions", "records-in-rds", "watched")
DEFAULT = "Delete"
"""What CloudFormation does where a template has no DeletionPolicy or UpdateReplacePolicy."""


def golden_files(environment: Synthesized) -> dict[Path, str]:
    """Return the texts of an environment by their path below GOLDEN."""
    if environment.resolved.name in WHOLE:
        return templates(environment)
    return {Path(f"{environment.resolved.name}.txt"): table(environment)}


def templates(environment: Synthesized) -> dict[Path, str]:
    files = {}
    for stack, template in environment.templates.items():
        text = json.dumps(template, indent=2, sort_keys=True) + "\n"
        text = text.replace(environment.resolved.account, "ACCOUNT")
        if environment.rendered:
            text = text.replace(environment.rendered.digest, "BUNDLE")
        files[Path(environment.resolved.name) / f"{stack}.json"] = ASSET_HASH.sub("ASSET", text)
    return files


def table(environment: Synthesized) -> str:
    """Return the resources of all stacks, and what becomes of them when they are removed."""
    rows = [("STACK", "RESOURCE", "TYPE", "REMOVED", "REPLACED"), *resources(environment)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)


def resources(environment: Synthesized) -> Iterator[tuple[str, str, str, str, str]]:
    for stack, template in environment.templates.items():
        for logical_id, resource in sorted(template["Resources"].items()):
            removed = resource.get("DeletionPolicy", DEFAULT)
            replaced = resource.get("UpdateReplacePolicy", DEFAULT)
            yield stack, logical_id, resource["Type"], removed, replaced


def test_templates_are_the_reviewed_ones(environment: Synthesized, update_golden: bool) -> None:
    for path, text in golden_files(environment).items():
        assert_matches(GOLDEN / path, text, update=update_golden)


def test_no_reviewed_file_is_left_over(environments: dict[str, Synthesized]) -> None:
    known = {path for each in environments.values() for path in golden_files(each)}
    found = {path.relative_to(GOLDEN) for path in GOLDEN.rglob("*") if path.is_file()}
    assert found == known
