"""Run uv with the package indexes of pip, because uv does not read pip's configuration.

.venv/bin/python -m tools.uv pip install --requirement requirements-dev.txt
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

SETTINGS = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "cert": ("SSL_CERT_FILE", " "),
    "proxy": ("ALL_PROXY", " "),
}
"""The variable of uv for each option of pip, and the separator of several values."""

LIKE_PIP = {"UV_INDEX_STRATEGY": "unsafe-best-match", "UV_SYSTEM_CERTS": "true"}
"""No index takes precedence, and the machine's certificates are used."""

SECTIONS = ("global", "install", ":env:")
"""The sections in which pip looks for an option; the last one that has it counts."""


def variables(listed: str) -> Mapping[str, str]:
    """Return the variables of uv for the output of `pip config list`."""
    options: dict[str, str] = {}
    lines = [line.partition("=") for line in listed.splitlines()]
    for section in SECTIONS:
        for name, _, value in lines:
            if name.startswith(f"{section}."):
                options[name.removeprefix(f"{section}.")] = ast.literal_eval(value)
    return LIKE_PIP | {
        variable: between.join(options[option].split())
        for option, (variable, between) in SETTINGS.items()
        if options.get(option)
    }


def main() -> None:
    """Replace this process by uv; variables that are already set keep their values.

    Packages are installed for the Python that runs this, even if the user has activated another
    environment.
    """
    pip = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(pip, capture_output=True, text=True, check=True).stdout
    uv = Path(sys.executable).with_name("uv")
    environment = {**variables(listed), **os.environ, "UV_PYTHON": sys.executable}
    os.execve(uv, [str(uv), *sys.argv[1:]], environment)  # noqa: S606


if __name__ == "__main__":
    main()
