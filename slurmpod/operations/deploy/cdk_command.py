"""CDK commands that work from the user's current folder."""

from __future__ import annotations

import shlex
from pathlib import Path

from slurmpod.folders import app_folder


def cdk_command(what: str, file: Path) -> str:
    """Return the command line for `what`, such as `deploy --all`, with the environment in `file`.

    The CDK only finds its app and its settings in `cdk.json` of the current folder.
    """
    app = app_folder()
    if Path.cwd() == app:
        return f"npx cdk {what} -c env={shlex.quote(str(file))}"
    path = shlex.quote(str(file.absolute()))
    return f"(cd {shlex.quote(str(app))} && npx cdk {what} -c env={path})"
