"""`slurmpod job adopt`: the user's own repository, as a job for a cluster."""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from slurmpod.cli.batch_script import problems_of
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.job_files import write_job
from slurmpod.cli.job_variables import given_variables
from slurmpod.cli.job_watch_options import given_watching
from slurmpod.cli.output import print_json, say
from slurmpod.jobs.adoption.accelerate import named_configuration
from slurmpod.jobs.adoption.adopt import Adopted, adopted_job, chosen_script, launch_for
from slurmpod.jobs.adoption.launch import Launch
from slurmpod.jobs.allocation import JobRefused, allocation_for
from slurmpod.jobs.recipes.own_program import RECIPE
from slurmpod.jobs.recipes.recipe import Place
from slurmpod.jobs.render import NAME, refuse_unsuitable
from slurmpod.jobs.script import Script
from slurmpod.jobs.variables import Variables
from slurmpod.operations.local_files.chosen_files import chosen_files
from slurmpod.problems import ExitCode, counted
from slurmpod.reading.text_file import Unreadable, read_text
from slurmpod.resolve import Resolved

SCRIPTS = frozenset({".sh", ".sbatch", ".slurm", ".bash"})


def run(options: argparse.Namespace) -> ExitCode:
    """Show how the job differs from the original, and write it if `--out` is given."""
    resolved = sound_environment(options.file).resolved
    try:
        files = _files(options)
        adopted = _adopted(options, resolved, files)
    except JobRefused as refused:
        say(f"{refused.message}\n  fix: {refused.fix}")
        return ExitCode.USAGE
    if options.out:
        _write(options, adopted, files)
    if options.json:
        print_json({**_problems(adopted, resolved), "notes": adopted.notes})
        return ExitCode.OK
    sys.stdout.write(adopted.difference)
    for note in adopted.notes:
        say(f"  {note}")
    for kind, count in _problems(adopted, resolved).items():
        say(f"{kind}: {count} by 'slurmpod job lint'")
    if options.out:
        say(f"{counted(len(files), 'file')} of {options.folder_of_repository} are copied with it")
        environment, out = (shlex.quote(str(path)) for path in (options.file, options.out))
        say(f"next: slurmpod job submit {environment} {out}")
    else:
        say("next: the same with --out FOLDER")
    return ExitCode.OK


def _adopted(options: argparse.Namespace, resolved: Resolved, files: Mapping[str, Path]) -> Adopted:
    given = _set(options)
    command = options.after_dashes or ()
    script = None if command else chosen_script(_texts(files), options.script)
    launch = launch_for(script, command, given)
    nodes = options.nodes or (script.fewest_nodes if script else None)
    allocation = allocation_for(
        resolved, group=options.group, partition=options.partition, nodes=nodes
    )
    refuse_unsuitable(RECIPE, allocation)
    image = options.container_image or ""
    return adopted_job(
        script,
        launch,
        Place(resolved, allocation),
        _variables(options, resolved, launch),
        frozenset(files),
        name=options.name or _name(script, options.folder_of_repository),
        folder=options.folder,
        image=image,
        watching=given_watching(options),
        configuration=_configuration(named_configuration(launch.words), files),
    )


def _configuration(name: str, files: Mapping[str, Path]) -> str:
    """Return the arguments of accelerate from its file in the repository; none without a file."""
    if not name:
        return ""
    try:
        return read_text(files[name])
    except (KeyError, Unreadable):
        raise JobRefused(
            f"accelerate reads {name}, which is not a text file of this repository",
            "copy it there, and name it by its path in the repository",
        ) from None


def _set(options: argparse.Namespace) -> dict[str, str]:
    pairs = [each.partition("=") for each in options.set]
    for name, separator, _ in pairs:
        if not separator:
            raise JobRefused(f"'{name}' has no value", "write --set NAME=VALUE")
    return {name: value for name, _, value in pairs}


def _variables(options: argparse.Namespace, resolved: Resolved, launch: Launch) -> Variables:
    """Return the user's variables, and the exported ones of the original that they do not set."""
    originals = [f"{name}={value}" for name, value in launch.variables.items()]
    in_container = bool(options.container_image)
    of_original = _with(options, env=originals, env_file=None, secret=[])
    kept = given_variables(of_original, resolved, in_container=in_container)
    given = given_variables(options, resolved, in_container=in_container)
    others = {name: each for name, each in kept.values.items() if name not in given.secrets}
    return replace(given, values={**others, **given.values})


def _with(options: argparse.Namespace, **others: object) -> argparse.Namespace:
    """Return the options with other values."""
    return argparse.Namespace(**{**vars(options), **others})


def _name(script: Script | None, folder: Path) -> str:
    """Return the original job's name if it is valid, else one from the repository's name."""
    option = script.option("job-name") if script else None
    found = option.value if option else ""
    name = re.sub(r"[^A-Za-z0-9._-]+|^[._-]+", "-", folder.resolve().name, flags=re.ASCII)
    return found if NAME.fullmatch(found) else name.lstrip("-") or "adopted"


def _files(options: argparse.Namespace) -> dict[str, Path]:
    """Return the files of the repository to copy, by name."""
    folder: Path = options.folder_of_repository
    if not folder.is_dir():
        raise JobRefused(f"{folder} is not a folder", "name the folder of a repository")
    if options.out and options.out.resolve().is_relative_to(folder.resolve()):
        raise JobRefused(
            f"{options.out} is inside {folder}, which is not changed", "choose one beside it"
        )
    return {path.relative_to(folder).as_posix(): path for path in chosen_files(folder)}


def _texts(files: Mapping[str, Path]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for name, path in files.items():
        if path.suffix in SCRIPTS:
            try:
                texts[name] = read_text(path)
            except Unreadable:
                continue
    return texts


def _problems(adopted: Adopted, resolved: Resolved) -> dict[str, int]:
    """Return the number of linter problems in the original and in the job."""
    job, original = adopted.job, adopted.original
    texts = {name: content.decode() for name, content in job.files.items()}
    after = problems_of(job.script, texts[job.script], resolved, texts.get)
    if original is None:
        return {"problems": len(after)}
    before = problems_of(original.file, original.text, resolved)
    return {"problems of the original": len(before), "problems": len(after)}


def _write(options: argparse.Namespace, adopted: Adopted, files: Mapping[str, Path]) -> None:
    write_job(options.out, adopted.job)
    for name, path in files.items():
        target = options.out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
