"""The templates of the example environments, as files to read in a review.

Refresh them with `make golden` or `pytest tests/stacks --update-golden`, and read the diff. What
differs between checkouts of the same design is replaced: account, asset hashes, bundle digest.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.golden_files import ROOT, assert_matches
from tests.stacks.synthesis import Synthesized

GOLDEN = ROOT / "tests" / "golden" / "templates"
ASSET_HASH = re.compile(r"\b[0-9a-f]{64}\b")


def normalized(environment: Synthesized) -> dict[Path, str]:
    """Return the templates by their path below GOLDEN."""
    files = {}
    for stack, template in environment.templates.items():
        text = json.dumps(template, indent=2, sort_keys=True) + "\n"
        text = text.replace(environment.resolved.account, "ACCOUNT")
        if environment.rendered:
            text = text.replace(environment.rendered.digest, "BUNDLE")
        files[Path(environment.resolved.name) / f"{stack}.json"] = ASSET_HASH.sub("ASSET", text)
    return files


def test_templates_are_the_reviewed_ones(environment: Synthesized, update_golden: bool) -> None:
    for path, text in normalized(environment).items():
        assert_matches(GOLDEN / path, text, update=update_golden)


def test_no_reviewed_template_is_left_over(environments: dict[str, Synthesized]) -> None:
    known = {path for each in environments.values() for path in normalized(each)}
    assert {path.relative_to(GOLDEN) for path in GOLDEN.rglob("*.json")} == known
