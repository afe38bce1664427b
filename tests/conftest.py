from __future__ import annotations

import atexit
import gc
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from embedded_aws.garbage import collect_garbage_rarely
from embedded_aws.service_descriptions import read_once
from slurmpod.folders import node_options
from tests.file_order import FilesTogether, turn
from tests.further_cases import MARK, is_further
from tests.golden_selection import WritersOnly
from tests.processor_time import ProcessorTime
from tests.search_depth import REPEATABLE

settings.load_profile(REPEATABLE)
collect_garbage_rarely()  # most objects of tests, such as the services of moto, are never freed
read_once()  # tests create clients of AWS by the thousand
atexit.register(gc.freeze)  # at its end Python would scan millions of objects again

CDK_VALIDATION = "CDK_VALIDATION"
os.environ.setdefault(CDK_VALIDATION, "false")
"""The CDK's own validation of templates takes half of a synthesis: cloud/test_examples.py runs it
for every environment once, and no other test waits for it."""


os.environ["NODE_OPTIONS"] = node_options(os.environ.get("NODE_OPTIONS"))
"""As commands set it for the CDK; here also for its own process in these tests."""

NODE_COMPILE_CACHE = "NODE_COMPILE_CACHE"
"""Node.js's compile cache: about a tenth of the time of each of the many commands of the CDK
(Node.js documentation, `module`)."""


def pytest_configure(config: pytest.Config) -> None:
    """Let all commands of the CDK share the compile cache, also with the next test run."""
    if cache := getattr(config, "cache", None):
        os.environ.setdefault(NODE_COMPILE_CACHE, str(cache.mkdir("node")))
    config.pluginmanager.register(ProcessorTime(config))
    if config.getoption("--update-golden"):
        config.pluginmanager.register(WritersOnly())


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="run only tests of golden files, and write these instead of comparing",
    )


TESTS = Path(__file__).parent


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FilesTogether:
    """Distribute tests to processes by file: tests depend on earlier ones of their file."""
    return FilesTogether(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that `make test` leaves out, before pytest selects; start with slow files."""
    for item in items:
        if is_further(item.nodeid.removeprefix("tests/")):
            item.add_marker(MARK)
    items.sort(key=lambda item: turn(item.path.relative_to(TESTS).as_posix()))


def pytest_collection_finish() -> None:
    """Exclude permanent objects from garbage collection: modules, tests and their parameters."""
    gc.freeze()


@pytest.fixture(scope="session")
def update_golden(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--update-golden"))
