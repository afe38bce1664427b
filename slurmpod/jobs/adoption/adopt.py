"""A repository's launch script and the user's choices -> a job, and its differences. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from slurmpod.bundle.templates import FOLDER
from slurmpod.jobs.adoption.accelerate import CONFIGURATION, for_job, is_accelerated
from slurmpod.jobs.adoption.launch import Launch, launch_of_script, without_launcher
from slurmpod.jobs.adoption.launchers import STARTER, own_words
from slurmpod.jobs.adoption.words import filled_text
from slurmpod.jobs.allocation import JobRefused
from slurmpod.jobs.cluster_rules import is_shared
from slurmpod.jobs.lint import shows_training
from slurmpod.jobs.recipes.own_program import RECIPE, OwnProgramParameters
from slurmpod.jobs.recipes.recipe import JOBS, Place
from slurmpod.jobs.render import Job, render_job
from slurmpod.jobs.script import DIRECTIVE, Script, read_script
from slurmpod.jobs.variables import Variables
from slurmpod.jobs.watcher import Watching
from slurmpod.problems import first_of
from slurmpod.resolve import Resolved
from slurmpod.value import Value

SHOWN = 5
"""Maximum of scripts listed for a choice."""

PATH = re.compile(r"(?:^|=)(/[^=,:]+)$")
REQUIREMENTS = ("requirements.txt", "pyproject.toml", "uv.lock", "setup.py")


class AdoptedProgram(OwnProgramParameters):
    """A program that is known when its job is rendered."""

    command: tuple[str, ...]
    configuration: str = ""
    """That of accelerate, where it starts the program."""

    def arguments(self, place: Place) -> tuple[str, ...]:
        """Return the program and its arguments."""
        del place
        return self.command

    def files(self, place: Place) -> Mapping[str, str]:
        """Return what starts it in place of another launcher than torchrun, where there was one."""
        del place
        if self.configuration:
            return {CONFIGURATION: self.configuration}
        starts = self.command[:1] == (STARTER,)
        return {STARTER: (FOLDER / JOBS / "adopted" / STARTER).read_text()} if starts else {}

    def for_scripts(self, place: Place) -> Mapping[str, object]:
        """Return whether accelerate is what step.sh starts."""
        del place
        return {"accelerates": bool(self.configuration)}


class Adopted(Value):
    """A job, its original script (None for a command), and notes for the user."""

    job: Job
    original: Script | None
    notes: tuple[str, ...]

    @property
    def difference(self) -> str:
        """The original and the new script, as `diff -u` shows them."""
        before, name = (self.original.text, self.original.file) if self.original else ("", "-")
        after = self.job.files[self.job.script].decode()
        lines = difflib.unified_diff(
            before.splitlines(), after.splitlines(), name, self.job.script, lineterm=""
        )
        return "\n".join(lines) + "\n"


def chosen_script(texts: Mapping[str, str], named: str | None) -> Script:
    """Return the script that is named, or the only batch script that trains. Raises JobRefused."""
    if named:
        if named not in texts:
            raise JobRefused(f"{named} is no script of this folder", "give its path in the folder")
        return read_script(named, texts[named])
    batch = [name for name, text in texts.items() if f"\n{DIRECTIVE}" in text]
    found = [name for name in batch if shows_training(name, texts[name])]
    if len(found) != 1:
        names = first_of(found or sorted(texts), SHOWN) or "no script at all"
        raise JobRefused(
            f"there must be exactly one batch script that trains, not {len(found) or 'none'}; "
            f"the folder has {names}",
            "name one with --script, or write the command behind --",
        )
    return read_script(found[0], texts[found[0]])


def launch_for(script: Script | None, command: Sequence[str], given: Mapping[str, str]) -> Launch:
    """Return the launch command: the user's, or the script's."""
    if script is None:
        words, left_out = without_launcher(command)
        return Launch(words, {}, left_out)
    return launch_of_script(script, given)


def adopted_job(
    script: Script | None,
    launch: Launch,
    place: Place,
    variables: Variables,
    files: frozenset[str],
    *,
    name: str,
    folder: str | None,
    image: str,
    watching: Watching,
    configuration: str = "",
) -> Adopted:
    """Render the job beside the files of its repository. Raises JobRefused.

    `configuration` is what the original's file for accelerate holds.
    """
    chosen = AdoptedProgram(command=launch.words)
    if is_accelerated(launch.words):
        kind = place.allocation.facts.accelerator_kind
        words, own = for_job(launch.words, configuration, place.processes, kind)
        chosen = AdoptedProgram(command=words, configuration=own)
    job = render_job(
        RECIPE,
        place,
        chosen,
        name=name,
        folder=folder,
        image=image,
        variables=variables,
        watching=watching,
    )
    if both := sorted(files & set(job.files)):
        raise JobRefused(
            f"the repository has {', '.join(both)}, too, as the job does",
            "give the job another --name, or rename the file",
        )
    notes = (*launch.left_out, *_notes(script, launch, place.resolved, files, image))
    return Adopted(replace(job, programs=frozenset()), script, notes)


def _notes(
    script: Script | None, launch: Launch, resolved: Resolved, files: frozenset[str], image: str
) -> Iterator[str]:
    words = own_words(launch.words)
    program = next((word for word in words if not word.startswith("--")), "")
    if program.endswith(".py") and program.removeprefix("./") not in files:
        yield f"{program} is not in the repository"
    for word in launch.words:
        if (found := PATH.search(word)) and not is_shared(resolved, found[1]):
            yield f"{found[1]} is on no file system that all nodes share: data and checkpoints"
    if script and not image:
        yield from _images(script)
    if lists := [name for name in REQUIREMENTS if name in files]:
        yield f"its packages ({', '.join(lists)}): slurmpod job venv --from"


def _images(script: Script) -> Iterator[str]:
    for step in script.steps:
        if option := step.option("container-image"):
            image = filled_text(option.value, script.values)
            yield f"the original runs in {image}: give --container-image to do so here"
