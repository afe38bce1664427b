"""The folder of a job: its files, and its place on the cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slurmpod.jobs.script import read_script
from slurmpod.operations.local_files.chosen_files import chosen_files
from slurmpod.operations.local_files.git_work_tree import Commit, commit_of
from slurmpod.operations.local_files.local_file import LocalFile
from slurmpod.problems import WorkFailed

SUBMITTER = "submit.sh"
SCRIPT = ".sbatch"


class NoJob(WorkFailed):
    """The folder has no job to submit."""


@dataclass(frozen=True)
class JobFolder:
    """The files of a job by name, and their folder on the cluster.

    `script` is the batch script; `starter` is the program that submits it; `commit` is the folder's
    git commit, if it has one.
    """

    files: Mapping[str, LocalFile]
    script: str
    starter: str
    place: str
    commit: Commit | None = None

    @property
    def size(self) -> int:
        """The size of all files in bytes."""
        return sum(file.size for file in self.files.values())

    def text(self, name: str) -> str | None:
        """Return the text of a file; None if it does not exist."""
        file = self.files.get(name)
        return file.path.read_bytes().decode(errors="replace") if file else None


def read_job_folder(folder: Path) -> JobFolder:
    """Read a folder; raises NoJob if it is not a job's."""
    if not folder.is_dir():
        raise NoJob(f"{folder} is not a folder: name one from 'slurmpod job render'")
    files = {path.relative_to(folder).as_posix(): path for path in chosen_files(folder)}
    script = _only_script(folder, [name for name in files if name.endswith(SCRIPT)])
    text = files[script].read_bytes().decode(errors="replace")
    option = read_script(script, text).option("chdir")
    if not option or not option.value.startswith("/"):
        raise NoJob(f"{script} names no folder on the cluster: add #SBATCH --chdir=/fsx/...")
    try:
        contents = {name: LocalFile.of(path) for name, path in files.items()}
    except OSError as error:
        raise NoJob(f"{error.filename} cannot be read: {error.strerror}") from None
    starter = SUBMITTER if SUBMITTER in files else script
    return JobFolder(contents, script, starter, option.value, commit_of(folder))


def _only_script(folder: Path, scripts: Sequence[str]) -> str:
    """Return the batch script of a folder; scripts in subfolders do not count."""
    beside = [name for name in scripts if "/" not in name] or scripts
    found = _main_scripts(beside)
    if len(found) == 1:
        return found[0]
    raise NoJob(
        f"{folder} must have one batch script (NAME.sbatch), it has {', '.join(found) or 'none'};"
        " files ignored by git or .slurmpodignore do not count"
    )


def _main_scripts(scripts: Sequence[str]) -> list[str]:
    """Return the scripts without those that belong to another one: NAME-after.sbatch, and so on."""
    bases = [f"{name.removesuffix(SCRIPT)}-" for name in scripts]
    return [name for name in scripts if not name.startswith(tuple(bases))]
