"""The CDK app of one environment: `npx cdk deploy --all -c env=dev`.

It only composes: reads the environment file, checks it, and hands what was resolved to the stacks.
Nothing is synthesized from an environment with errors or from stacks with findings.

cdk.json starts it with the virtual environment first on PATH, so that it needs no activated shell.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from slurmpod.nodejs import node_executable
from slurmpod.problem_text import problems_text
from slurmpod.problems import ExitCode, InvalidEnvironment
from slurmpod.reading.extends import environment_files
from slurmpod.reading.read import read
from slurmpod.rules.check import sound

ENVIRONMENTS = Path(__file__).parent / "environments"


def main() -> ExitCode:
    """Synthesize the environment that `-c env=...` names."""
    context = json.loads(os.environ.get("CDK_CONTEXT_JSON", "{}"))  # set by the CDK command line
    path = _environment_file(context.get("env"))
    if path is None:
        return ExitCode.USAGE
    try:
        found = sound(read(path))
    except InvalidEnvironment as invalid:
        say(problems_text(invalid.problems, sys.stderr))
        return ExitCode.INVALID
    if found.warnings:
        say(problems_text(found.warnings, sys.stderr) + "\n")
    resolved = found.resolved
    # Only now, because this starts the jsii runtime: mistakes are reported at once.
    os.environ.setdefault("JSII_NODE", str(node_executable()))
    from slurmpod.bundle import render_bundle
    from slurmpod_cdk.build import build_app
    from slurmpod_cdk.nag import review

    app = build_app(resolved, render_bundle(resolved), context=context)
    findings = review(app)
    if findings:
        say("\n".join(findings))
        return ExitCode.FAILED
    app.synth()
    return ExitCode.OK


def say(text: str) -> None:
    """Tell whoever runs the CDK command line; its standard output is not for us."""
    sys.stderr.write(f"{text}\n")


def _environment_file(name: str | None) -> Path | None:
    """Return the file that `-c env=` means: a path to a YAML file or a name in environments/."""
    if name and (os.sep in name or name.endswith((".yaml", ".yml"))):
        return Path(name)
    known = {path.stem: path for path in environment_files(ENVIRONMENTS)}
    if name in known:
        return Path(os.path.relpath(known[name]))
    say(f"there is no environment '{name}'" if name else "which environment?")
    say(f"  environments: {', '.join(known)}, or the path of a YAML file")
    say(f"  choose one: npx cdk synth -c env={next(iter(known), 'PATH')}")
    return None


if __name__ == "__main__":
    sys.exit(main())
