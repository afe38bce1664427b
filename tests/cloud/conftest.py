"""Fixtures of the tests that deploy templates to an embedded AWS, one for each module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from embedded_aws.clients import Clients
from tests.cloud.embedded_stacks import Stacks, running_stacks


@pytest.fixture(scope="module")
def stacks() -> Iterator[Stacks]:
    yield from running_stacks()


@pytest.fixture(scope="module")
def clients(stacks: Stacks) -> Clients:
    return stacks.clients
