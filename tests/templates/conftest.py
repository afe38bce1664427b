from __future__ import annotations

import pytest

from tests.cdk_process import start_of_the_cdk
from tests.environment_files import EXAMPLES, FILES

with start_of_the_cdk():
    from tests.templates.synthesis import Synthesized, synthesized_file


@pytest.fixture(scope="session")
def environments() -> dict[str, Synthesized]:
    """Every environment of this repository, the many examples included."""
    return {name: synthesized_file(name) for name in FILES}


@pytest.fixture(scope="session", params=FILES)
def environment(request: pytest.FixtureRequest) -> Synthesized:
    return synthesized_file(request.param)


@pytest.fixture(scope="session", params=EXAMPLES)
def example(request: pytest.FixtureRequest) -> Synthesized:
    """One of the few environments that have everything usual, and nothing else."""
    return synthesized_file(request.param)


@pytest.fixture(scope="session")
def dev() -> Synthesized:
    return synthesized_file("dev")


@pytest.fixture(scope="session")
def p5_prod() -> Synthesized:
    return synthesized_file("p5-prod")
