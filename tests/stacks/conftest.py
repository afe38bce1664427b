from __future__ import annotations

import os
import sysconfig

import pytest

# jsii starts the first node on PATH; the virtual environment brings the right one.
os.environ["PATH"] = f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"

from tests.stacks.synthesis import (
    EXAMPLES,
    Synthesized,
    example_text,
    resolved_from,
    synthesize,
)


@pytest.fixture(scope="session")
def examples() -> dict[str, Synthesized]:
    """Every environment of this repository."""
    return {name: synthesize(resolved_from(example_text(name))) for name in EXAMPLES}


@pytest.fixture(scope="session", params=EXAMPLES)
def example(request: pytest.FixtureRequest, examples: dict[str, Synthesized]) -> Synthesized:
    return examples[request.param]


@pytest.fixture(scope="session")
def dev(examples: dict[str, Synthesized]) -> Synthesized:
    return examples["dev"]


@pytest.fixture(scope="session")
def p5_prod(examples: dict[str, Synthesized]) -> Synthesized:
    return examples["p5-prod"]
