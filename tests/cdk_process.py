"""The CDK's own process, as tests start it: with the right node, and nothing left in /tmp."""

from __future__ import annotations

import os
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

ASSEMBLIES = tempfile.TemporaryDirectory(prefix="assemblies-", ignore_cleanup_errors=True)
"""Where that process makes a folder for every app that is synthesized; gone at the end."""


@contextmanager
def start_of_the_cdk() -> Iterator[None]:
    """Surround the first import of the CDK, which starts a process that lives as long as this one.

    It is the first node on PATH: the virtual environment brings the right one.
    """
    path = f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"
    os.environ["PATH"] = path
    with pytest.MonkeyPatch.context() as variables:
        variables.setenv("TMPDIR", ASSEMBLIES.name)
        variables.setenv("NODE_DISABLE_COMPILE_CACHE", "1")  # as app.py has it
        yield
