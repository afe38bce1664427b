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

from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import say
from slurmpod.cli.problem_text import problems_text
from slurmpod.model.extends import environment_files
from slurmpod.nodejs import node_executable
from slurmpod.problems import ExitCode, InvalidEnvironment

ENVIRONMENTS = Path(__file__).parent / "environments"


def main() -> ExitCode:
    """Synthesize the environment that `-c env=...` names."""
    context = json.loads(os.environ.get("CDK_CONTEXT_JSON", "{}"))  # set by the CDK command line
    path = _environment_file(context.get("env"))
    if path is None:
        return ExitCode.USAGE
    try:
        resolved = sound_environment(path).resolved
    except InvalidEnvironment as invalid:
        say(problems_text(invalid.problems, sys.stderr))
        return ExitCode.INVALID
    # Only now, because this starts the jsii runtime: mistakes are reported at once.
    os.environ.setdefault("JSII_NODE", str(node_executable()))
    from slurmpod.rendering import render_bundle
    from stacks.build import build_app
    from stacks.nag import review

    app = build_app(resolved, render_bundle(resolved), context=context)
    findings = review(app)
    if findings:
        say("\n".join(findings))
        return ExitCode.FAILED
    app.synth()
    return ExitCode.OK


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
