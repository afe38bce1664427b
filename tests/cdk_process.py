"""The CDK's own process, as tests start it: with the right node, and nothing left in /tmp."""

from __future__ import annotations

import os
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

ASSEMBLIES = tempfile.TemporaryDirectory(prefix="assemblies-", ignore_cleanup_errors=True)
"""The folder in which that process creates a folder for every synthesized app; removed at the
end."""


@contextmanager
def start_of_the_cdk() -> Iterator[None]:
    """Surround the first import of the CDK, which starts a process that lives as long as this one.

    Its node is the first one on PATH: the virtual environment has the right one.
    """
    path = f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"
    os.environ["PATH"] = path
    with pytest.MonkeyPatch.context() as variables:
        variables.setenv("TMPDIR", ASSEMBLIES.name)
        variables.setenv("NODE_DISABLE_COMPILE_CACHE", "1")  # as in app.py
        yield
