"""The CDK app of environments: `npx cdk deploy --all -c env=dev`, or `-c env=dev,prod`.

It only composes: reads the environment files, checks them, and hands what was resolved to the
stacks. Nothing is synthesized when one environment has errors or one stack has findings.

cdk.json starts it with the virtual environment first on PATH, so that it needs no activated shell.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from slurmpod.folders import node_executable, node_options
from slurmpod.operations.deploy.assembly_key import assembly_key
from slurmpod.operations.deploy.kept_assemblies import TAKEN, KeptAssemblies
from slurmpod.problem_text import problems_text
from slurmpod.problems import ExitCode, InvalidEnvironment
from slurmpod.reading.extends import SUFFIXES, environment_files
from slurmpod.reading.read import read
from slurmpod.resolve import Resolved
from slurmpod.rules.check import all_sound

ENVIRONMENTS = Path(__file__).parent / "environments"
HAS_CREDENTIALS = "CDK_DEFAULT_ACCOUNT"
"""The variable that the CDK's command line sets for its app once it has credentials, also those of
`--profile`, which it does not pass on."""

OUTPUT = "CDK_OUTDIR"
"""The variable in which that command line says where it wants the assembly."""

ALL = "all"
"""Stands for every file in `environments` and the folders below it."""


def main() -> ExitCode:
    """Synthesize the environments that `-c env=...` names."""
    gc.disable()  # most of what is made lives to the end: a fifth of the time went there
    context = json.loads(os.environ.get("CDK_CONTEXT_JSON", "{}"))  # set by the CDK command line
    files = environment_paths(context.get("env"))
    if not files:
        return ExitCode.USAGE
    try:
        found = all_sound([read(file) for file in files])
    except InvalidEnvironment as invalid:
        say(problems_text(invalid.problems, sys.stderr))
        return ExitCode.INVALID
    if found.warnings:
        say(problems_text(found.warnings, sys.stderr) + "\n")
    if refused := _refusals(dict(zip(files, found.environments, strict=True)), context):
        say("\n".join(refused))
        return ExitCode.FAILED
    return _synthesize(found.environments, context)


def _synthesize(environments: Sequence[Resolved], context: Mapping[str, Any]) -> ExitCode:
    """Make the assembly, or take it from an earlier synthesis of the same."""
    kept = KeptAssemblies.of_home()
    folder = os.environ.get(OUTPUT)
    key = assembly_key(environments, context, os.environ) if folder else None
    if key and folder and kept.copy(key, Path(folder)):
        say(TAKEN)
        return ExitCode.OK
    # Only now, because this starts the jsii runtime: mistakes are reported at once.
    _prepare_node()
    from slurmpod_cdk.build import build_app
    from slurmpod_cdk.feature_flags import MissingFeatureFlags
    from slurmpod_cdk.nag.review import review

    try:
        app = build_app(environments, context=context)
    except MissingFeatureFlags as missing:
        say(str(missing))
        return ExitCode.USAGE
    findings = review(app)
    if findings:
        say("\n".join(findings))
        return ExitCode.FAILED
    app.synth()
    if key and folder:
        kept.keep(key, Path(folder))
    return ExitCode.OK


def _prepare_node() -> None:
    """Choose the program that jsii starts, and how it runs."""
    os.environ.setdefault("JSII_NODE", str(node_executable()))
    os.environ["NODE_OPTIONS"] = node_options(os.environ.get("NODE_OPTIONS"))
    # jsii links its packages into a new folder each time: what is compiled there is never used
    # again, and Node.js would keep 12 MiB of it for every synthesis.
    os.environ["NODE_DISABLE_COMPILE_CACHE"] = "1"


def _refusals(environments: Mapping[Path, Resolved], context: Mapping[str, str]) -> Sequence[str]:
    """Return what stands against a synthesis of protected environments.

    Who has no credentials can deploy nothing: then nobody is asked, and synthesis is offline.
    """
    protected = {file: each for file, each in environments.items() if each.protected}
    if not protected or HAS_CREDENTIALS not in os.environ:
        return ()
    try:
        from slurmpod.cli.protection import refusals  # asks AWS, which others never do
    except ModuleNotFoundError as error:
        needs = f"refused: what a protected environment loses is not known here: {error}"
        return [f"{needs}\n  fix: pip install 'slurmpod[aws]'"]
    return tuple(refusals(protected, context.get("confirm", "")))


def say(text: str) -> None:
    """Tell whoever runs the CDK command line; its standard output is not for us."""
    sys.stderr.write(f"{text}\n")


def environment_paths(written: str | None) -> list[Path]:
    """Return the files that `-c env=` means: one, several with commas between them, or all."""
    below = _files_below(ENVIRONMENTS)
    if written == ALL and below:
        return below
    known = {_name(file): file for file in below}
    names = _names(written or "")
    unknown = [name for name in names if name not in known and not _is_path(name)]
    if unknown or not names:
        _say_choices(unknown, [name for name in known if "/" not in name])
        return []
    return list(dict.fromkeys(known.get(name, Path(name)) for name in names))


def _files_below(folder: Path) -> list[Path]:
    """Return the environments in a folder and in those below it, as seen from here."""
    folders = [folder, *sorted(folder.rglob("*/"))] if folder.is_dir() else []
    files = (file for each in folders for file in environment_files(each))
    return [Path(os.path.relpath(file)) for file in files]


def _name(file: Path) -> str:
    """Return what `-c env=` calls an environment: dev, or examples/managed in a folder."""
    return Path(os.path.relpath(file, ENVIRONMENTS)).with_suffix("").as_posix()


def _names(written: str) -> list[str]:
    """Take apart what commas separate, unless there is such a file."""
    parts = [written] if Path(written).is_file() else written.split(",")
    return [part.strip() for part in parts if part.strip()]


def _is_path(name: str) -> bool:
    return os.sep in name or name.endswith(SUFFIXES)


def _say_choices(unknown: Sequence[str], known: Collection[str]) -> None:
    missing = [f"there is no environment '{name}'" for name in unknown]
    say("\n".join(missing or ["which environment?"]))
    if not known:
        say("  write the path of a YAML file: npx cdk synth -c env=PATH")
        return
    say(f"  environments: {', '.join(known)}, FOLDER/NAME below them, or the path of a YAML file")
    say(f"  choose one: npx cdk synth -c env={next(iter(known))}")
    say(f"  or several: npx cdk synth -c env={','.join(known)}, or -c env={ALL}")


if __name__ == "__main__":
    sys.exit(main())
