"""The folder of a rendered job: what is in it, and its way to shared storage."""

from __future__ import annotations

import base64
import hashlib
import io
import shlex
import stat
import tarfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slurmpod.jobs.script import read_script
from slurmpod.operations.node_shell import NodeShell
from slurmpod.problems import WorkFailed

SUBMITTER = "submit.sh"
SCRIPT = ".sbatch"
LARGEST_BYTES = 20_000_000
"""Programs are copied, not data and checkpoints."""

LEFT_OUT = frozenset({"__pycache__", ".git"})
CHUNK = 30_000
"""Characters of a part that goes through one session: a command of Session Manager may have 65535
(API reference, StartSession), and ours is quoted twice."""

ARRIVING = ".slurmpod-arriving"


class NoJob(WorkFailed):
    """A folder that holds no job to submit."""


@dataclass(frozen=True)
class JobFolder:
    """The files of a job by their names, and the folder of the cluster in which they belong.

    `script` is the batch script; `starter` is what is run to submit it; `programs` are the files
    that their owner may run.
    """

    files: Mapping[str, bytes]
    script: str
    starter: str
    place: str
    programs: Collection[str]


def read_job_folder(folder: Path) -> JobFolder:
    """Read a folder; raises NoJob for what is none of a job."""
    if not folder.is_dir():
        raise NoJob(f"{folder} is no folder: give the one that 'slurmpod job render' made")
    files = {path.relative_to(folder).as_posix(): path for path in sorted(_files(folder))}
    scripts = _main_scripts([name for name in files if name.endswith(SCRIPT)])
    if len(scripts) != 1:
        found = ", ".join(scripts) or "none"
        raise NoJob(f"{folder} has to have one batch script (NAME.sbatch), it has {found}")
    size = sum(path.stat().st_size for path in files.values())
    if size > LARGEST_BYTES:
        raise NoJob(
            f"{folder} has {size / 1e6:.0f} MB: put data elsewhere, only programs are copied"
        )
    contents = {name: path.read_bytes() for name, path in files.items()}
    text = contents[scripts[0]].decode(errors="replace")
    option = read_script(scripts[0], text).option("chdir")
    if not option or not option.value.startswith("/"):
        raise NoJob(f"{scripts[0]} says no folder of the cluster: add #SBATCH --chdir=/fsx/...")
    starter = SUBMITTER if SUBMITTER in files else scripts[0]
    programs = (name for name, path in files.items() if path.stat().st_mode & stat.S_IXUSR)
    return JobFolder(contents, scripts[0], starter, option.value, frozenset(programs))


def _main_scripts(scripts: Sequence[str]) -> list[str]:
    """Return the scripts but for those that belong to another one: NAME-after.sbatch, and so on."""
    bases = [f"{name.removesuffix(SCRIPT)}-" for name in scripts]
    return [name for name in scripts if not name.startswith(tuple(bases))]


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.is_file() and LEFT_OUT.isdisjoint(path.relative_to(folder).parts):
            yield path


def differing_files(shell: NodeShell, job: JobFolder) -> list[str]:
    """Return the files that are on the cluster already, with other content."""
    names = shlex.join(job.files)
    listed = shell.run(f"cd {shlex.quote(job.place)} && sha256sum -- {names} 2>/dev/null || true")
    there = {
        name: digest for digest, _, name in (line.partition("  ") for line in listed.split("\n"))
    }
    return [
        name
        for name, content in job.files.items()
        if name in there and there[name] != hashlib.sha256(content).hexdigest()
    ]


def copy_job(shell: NodeShell, job: JobFolder) -> None:
    """Put all files into their folder; what is cut off on the way changes none of them."""
    place = shlex.quote(job.place)
    archive = base64.b64encode(_archive(job)).decode()
    first = f"mkdir -p {place} && cd {place} && : > {ARRIVING}"
    for start in range(0, len(archive), CHUNK):
        part = archive[start : start + CHUNK]
        shell.run(f"{first} && printf %s {part} >> {ARRIVING}")
        first = f"cd {place}"
    digest = hashlib.sha256(archive.encode()).hexdigest()
    shell.run(
        f"cd {place} && echo '{digest}  {ARRIVING}' | sha256sum --check --status"
        f" && base64 --decode {ARRIVING} | tar --extract --gzip --no-same-owner && rm {ARRIVING}"
    )


def _archive(job: JobFolder) -> bytes:
    """Pack the files as ones that were written now.

    Python runs what it has compiled before where a file's time and size are those of that time.
    """
    packed, now = io.BytesIO(), int(time.time())
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in job.files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(content), now
            entry.mode = 0o755 if name in job.programs else 0o644
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()
