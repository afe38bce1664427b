"""Fixtures of the tests that deploy templates to an embedded AWS, one for each module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.functional.embedded_stacks import Stacks, running_stacks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.rehearsal.cloud.clients import Clients


@pytest.fixture(scope="module")
def stacks() -> Iterator[Stacks]:
    yield from running_stacks()


@pytest.fixture(scope="module")
def clients(stacks: Stacks) -> Clients:
    return stacks.clients
