"""Folders that lie at the top of the repository, and among the package's data once installed."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """Return `templates`, `lifecycle_scripts` or `functions`, wherever this slurmpod has it.

    The wheel has them in `slurmpod/data` (setup.py): at its top they would be packages of all.
    """
    return app_folder() / name


def app_folder() -> Path:
    """Return where `app.py` and `cdk.json` are, the CDK app of an environment."""
    data = _PACKAGE / "data"
    return data if (data / "app.py").is_file() else _PACKAGE.parent
