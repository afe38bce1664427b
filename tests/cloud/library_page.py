"""What docs/library.md prints: apps, and the files that they need."""

from __future__ import annotations

import re
from pathlib import Path

from tests.golden_files import ROOT

PAGE = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")


def snippets(language: str) -> list[str]:
    """Return the page's blocks of code in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


APPS = snippets("python")
OF_A_FILE = APPS[0]
WITH_A_NETWORK = next(app for app in APPS if "apply_waivers()" in app)
OF_CONSTRUCTS = next(app for app in APPS if "SlurmCluster(" in app)


def write_files(folder: Path) -> None:
    """Write what the apps read: an environment, and a folder of scripts."""
    (environment,), (script,) = snippets("yaml"), snippets("sh")
    (folder / "cluster.yaml").write_text(environment)
    (folder / "lifecycle").mkdir()
    (folder / "lifecycle" / "on_init_complete.sh").write_text(script)
