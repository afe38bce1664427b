"""Folders on their way to a cluster: what is copied, in which ways, and what a cut leaves."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from slurmpod.operations.cluster_jobs import submit
from slurmpod.operations.copying import carriers, packs
from slurmpod.operations.copying.carriers import (
    BucketCarrier,
    NotCarried,
    place_for_copies,
)
from slurmpod.operations.copying.copier import Copier
from slurmpod.operations.copying.copy_job import compare, copy_job
from slurmpod.operations.job_folder import read_job_folder
from slurmpod.operations.local_files.chosen_files import chosen_files
from slurmpod.operations.local_files.git_work_tree import commit_of
from slurmpod.operations.node_shell import CommandFailed, NoAnswer
from slurmpod.problems import WorkFailed
from slurmpod.resolve import resolve
from tests.pure.jobs.local_shell import LocalShell
from tests.sound_environment import sound_and

DATA = {"bucket": "my-data", "prefix": "team/", "access": "read"}
SLOWER = "the files go through sessions, which takes longer"
PACK_BEGINS = "H4sIAAAAAAAE"
"""Base64 of the head of a pack: gzip, without a time. Programs in a session have their own form."""
IDENTITY = ("-c", "user.name=A", "-c", "user.email=a@example.com")


def git(folder: Path, *command: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *IDENTITY, *command], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in chosen_files(folder)}


class TestChosenFiles:
    def test_ignore_files_hold_without_git(self, tmp_path: Path) -> None:
        files = {
            ".gitignore": "*.log\n/data/\n!kept.log\n",
            ".slurmpodignore": "notes.md\n!wanted.log\n",
            "a.py": "",
            "a.log": "",
            "kept.log": "",
            "wanted.log": "",
            "notes.md": "",
            "data/x.bin": "",
            "package/data/y.py": "",
            "package/.gitignore": "z.py\n",
            "package/z.py": "",
            "package/kept.log": "",
            "__pycache__/a.pyc": "",
        }
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        assert names(tmp_path) == {
            *(".gitignore", ".slurmpodignore", "a.py", "kept.log", "wanted.log"),
            *("package/data/y.py", "package/.gitignore", "package/kept.log"),
        }

    def test_git_says_what_is_in_its_repository(self, tmp_path: Path) -> None:
        git(tmp_path, "init", "--quiet")
        inner = tmp_path / "inner"
        inner.mkdir()
        git(inner, "init", "--quiet")
        (tmp_path / ".gitignore").write_text("*.bin\n")
        (tmp_path / "tracked.bin").touch()
        git(tmp_path, "add", "--force", "tracked.bin")
        for name in ("new ü.py", "ignored.bin", "left_out.csv", "inner/part.py"):
            (tmp_path / name).touch()
        (tmp_path / ".git" / "info" / "exclude").write_text("excluded.py\n")
        (tmp_path / "excluded.py").touch()
        (tmp_path / ".slurmpodignore").write_text("*.csv\n")
        kept = {".gitignore", ".slurmpodignore", "tracked.bin", "new ü.py", "inner/part.py"}
        assert names(tmp_path) == kept

    def test_a_job_below_a_folder_that_git_ignores_is_whole(self, tmp_path: Path) -> None:
        git(tmp_path, "init", "--quiet")
        (tmp_path / ".gitignore").write_text("build/\n")
        (tmp_path / "build").mkdir()
        (tmp_path / "build" / "x.sbatch").touch()
        git(tmp_path, "add", ".gitignore")
        git(tmp_path, "commit", "--quiet", "-m", "x")
        assert names(tmp_path / "build") == {"x.sbatch"}
        assert commit_of(tmp_path / "build") is None

    def test_the_commit_and_whether_it_is_all(self, tmp_path: Path) -> None:
        assert commit_of(tmp_path) is None
        git(tmp_path, "init", "--quiet")
        (tmp_path / "x.py").write_text("x = 1\n")
        git(tmp_path, "add", "x.py")
        git(tmp_path, "commit", "--quiet", "-m", "x")
        id_ = git(tmp_path, "rev-parse", "HEAD")
        assert str(commit_of(tmp_path)) == f"commit {id_[:12]}"
        (tmp_path / "x.py").write_text("x = 2\n")
        assert str(commit_of(tmp_path)) == f"commit {id_[:12]} with changes"


def tree(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def sent(folder: Path) -> dict[str, bytes]:
    return {name: text for name, text in tree(folder).items() if "__pycache__" not in name}


def incompressible(size: int) -> bytes:
    return random.Random(1).randbytes(size)  # noqa: S311  # nothing is secret


class TestThroughSessions:
    def test_a_new_folder_has_all_files_and_nothing_else(
        self, shell: LocalShell, folder: Path
    ) -> None:
        (folder / "it's $(x) ü").write_text("odd\n")
        job = read_job_folder(folder)
        copy_job(shell, job)
        place = Path(job.place)
        assert tree(place) == {
            "mine.sbatch": (folder / "mine.sbatch").read_bytes(),
            "package/x.py": b"x = 1\n",
            "it's $(x) ü": b"odd\n",
        }
        assert [path.name for path in place.parent.iterdir()] == ["mine"]
        assert compare(shell, job).is_whole

    def test_what_is_there_does_not_travel_again(self, shell: LocalShell, folder: Path) -> None:
        (folder / "large.bin").write_bytes(incompressible(100_000))
        copy_job(shell, read_job_folder(folder))
        (folder / "package" / "x.py").write_text("x = 2\n")
        job = read_job_folder(folder)
        known = compare(shell, job)
        assert known.differing == ("package/x.py",)
        assert known.lacking == {job.files["package/x.py"].digest}
        shell.ran.clear()
        copy_job(shell, job, known)
        (command,) = shell.ran
        assert len(command) < 10_000
        assert (Path(job.place) / "package" / "x.py").read_text() == "x = 2\n"
        shell.ran.clear()
        copy_job(shell, job)
        assert len(shell.ran) == 1

    def test_outputs_of_jobs_stay_where_they_are(self, shell: LocalShell, folder: Path) -> None:
        job = read_job_folder(folder)
        copy_job(shell, job)
        output = Path(job.place) / "mine_1.out"
        output.write_text("step 1\n")
        before = output.stat().st_ino
        (folder / "new.py").write_text("y = 1\n")
        copy_job(shell, read_job_folder(folder))
        assert (output.read_text(), output.stat().st_ino) == ("step 1\n", before)
        assert (Path(job.place) / "new.py").read_text() == "y = 1\n"

    def test_programs_can_be_run_also_when_only_that_has_changed(
        self, shell: LocalShell, folder: Path
    ) -> None:
        (folder / "launch.sh").write_text("#!/bin/sh\necho launched\n")
        copy_job(shell, read_job_folder(folder))
        (folder / "launch.sh").chmod(0o700)
        job = read_job_folder(folder)
        copy_job(shell, job)
        assert shell.run(f"cd {job.place} && ./launch.sh") == "launched\n"
        assert not os.access(f"{job.place}/mine.sbatch", os.X_OK)

    def test_a_module_that_changes_is_not_run_as_it_was_before(
        self, shell: LocalShell, folder: Path
    ) -> None:
        printed = []
        for text in ("RATE = 3e-3\n", "RATE = 1e-3\n"):
            (folder / "model.py").write_text(text)
            job = read_job_folder(folder)
            copy_job(shell, job)
            train = f"cd {job.place} && {sys.executable} -c 'import model; print(model.RATE)'"
            printed.append(shell.run(train))
        assert printed == ["0.003\n", "0.001\n"]

    @pytest.fixture
    def large(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setattr(packs, "PACK_BYTES", 70_000)
        for number in range(3):
            (folder / f"{number}.bin").write_bytes(incompressible(60_000 + number))
        return folder

    def test_a_cut_leaves_no_new_folder_and_the_next_copy_goes_on(
        self, shell: LocalShell, large: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job = read_job_folder(large)
        run_all = shell.run

        def run_three(script: str) -> str:
            if len(shell.ran) == 4:
                raise NoAnswer("the session ended")
            return run_all(script)

        monkeypatch.setattr(shell, "run", run_three)
        with pytest.raises(NoAnswer):
            copy_job(shell, job)
        assert not Path(job.place).exists()
        before = len(shell.ran)
        monkeypatch.setattr(shell, "run", run_all)
        copy_job(shell, job)
        again = [script for script in shell.ran[before:] if script.startswith("printf")]
        assert len(again) == 4  # of 6: what had arrived is not sent again
        assert tree(Path(job.place)) == sent(large)

    def test_a_part_that_is_lost_changes_no_file(
        self, shell: LocalShell, large: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        copy_job(shell, read_job_folder(large))
        (large / "package" / "x.py").write_text("x = 2\n")
        (large / "1.bin").write_bytes(incompressible(60_009))
        job = read_job_folder(large)
        before = tree(Path(job.place))
        run_all = shell.run
        other = (PACK_BEGINS, PACK_BEGINS.replace("IAAAAAAA", "IAAAAAQA"))
        monkeypatch.setattr(shell, "run", lambda script: run_all(script.replace(*other)))
        with pytest.raises(CommandFailed, match="another SHA-256"):
            copy_job(shell, job)
        after = tree(Path(job.place))
        assert {name: after[name] for name in before} == before
        monkeypatch.setattr(shell, "run", run_all)
        copy_job(shell, job)
        assert compare(shell, job).is_whole

    def test_a_folder_in_the_way_is_told(self, shell: LocalShell, folder: Path) -> None:
        job = read_job_folder(folder)
        (Path(job.place) / "package" / "x.py" / "in the way").mkdir(parents=True)
        with pytest.raises(CommandFailed, match=r"Is a directory: .*x\.py"):
            copy_job(shell, job)

    def test_what_is_too_large_for_sessions_says_what_helps(
        self, shell: LocalShell, large: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(carriers, "SESSION_BYTES", 50_000)
        with pytest.raises(NotCarried, match=r"\.slurmpodignore"):
            copy_job(shell, read_job_folder(large))


@dataclass
class FolderBucket:
    """A bucket that is a folder, from which the node's `aws` takes what it may."""

    folder: Path
    name: str = "the-bucket"
    puts: list[str] = field(default_factory=list)
    is_refused: bool = False

    def has(self, key: str) -> bool:
        if self.is_refused:
            raise WorkFailed("cannot write to the bucket: AccessDenied")
        return (self.folder / key).exists()

    def put(self, key: str, file: Path, sha256: str) -> None:
        (self.folder / key).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, self.folder / key)
        self.puts.append(key)

    def remove(self, key: str) -> None:
        (self.folder / key).unlink()


class TestThroughABucket:
    @pytest.fixture
    def bucket(self, shell: LocalShell, tmp_path: Path) -> FolderBucket:
        found = FolderBucket(tmp_path / "bucket")
        shell.add("aws", f'cp "{found.folder}/${{6#s3://the-bucket/}}" "$7"')
        return found

    @pytest.fixture
    def large(self, folder: Path) -> Path:
        (folder / "large.bin").write_bytes(incompressible(300_000))
        return folder

    def copier(self, shell: LocalShell, folder: Path, bucket: Any) -> tuple[Copier, list[str]]:
        told: list[str] = []
        carrier = BucketCarrier(bucket, "scripts/jobs/", "us-west-2")
        return Copier(shell, read_job_folder(folder), carrier, told.append), told

    def test_what_is_large_needs_two_sessions_and_leaves_nothing(
        self, shell: LocalShell, large: Path, bucket: FolderBucket
    ) -> None:
        copier, told = self.copier(shell, large, bucket)
        copier.copy(copier.compare())
        assert tree(Path(copier.job.place)) == sent(large)
        assert len(shell.ran) == 2
        assert len(bucket.puts) == 1
        assert tree(bucket.folder) == {}
        assert told == []

    def test_many_files_are_compared_by_a_list_in_the_bucket(
        self, shell: LocalShell, large: Path, bucket: FolderBucket, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("slurmpod.operations.copying.copy_job.INLINE_BYTES", 100)
        copier, _ = self.copier(shell, large, bucket)
        copier.copy(copier.compare())
        assert compare(shell, copier.job).is_whole
        assert len(bucket.puts) == 3
        assert tree(bucket.folder) == {}

    def test_what_is_in_the_bucket_is_not_put_there_again(
        self, shell: LocalShell, large: Path, bucket: FolderBucket
    ) -> None:
        copier, _ = self.copier(shell, large, bucket)
        known = copier.compare()
        shell.refusals = [NoAnswer("the session ended")]
        with pytest.raises(NoAnswer):
            copier.copy(known)
        assert not Path(copier.job.place).exists()
        again, _ = self.copier(shell, large, bucket)
        again.copy(again.compare())
        assert len(bucket.puts) == 1
        assert tree(bucket.folder) == {}

    def test_without_the_users_right_it_goes_through_sessions(
        self, shell: LocalShell, large: Path, bucket: FolderBucket
    ) -> None:
        bucket.is_refused = True
        copier, told = self.copier(shell, large, bucket)
        copier.copy(copier.compare())
        assert compare(shell, copier.job).is_whole
        (reason,) = told
        assert reason.splitlines() == ["cannot write to the bucket: AccessDenied", SLOWER]

    def test_the_right_that_the_nodes_lack_is_named(
        self, shell: LocalShell, large: Path, bucket: FolderBucket
    ) -> None:
        shell.add("aws", "echo An error occurred: AccessDenied >&2; exit 1")
        copier, told = self.copier(shell, large, bucket)
        copier.copy(copier.compare())
        assert compare(shell, copier.job).is_whole
        (reason,) = told
        needs = "the role of the nodes needs s3:GetObject on s3://the-bucket/scripts/jobs/*"
        assert reason.splitlines() == [f"{needs}: An error occurred: AccessDenied", SLOWER]
        assert tree(bucket.folder) == {}

    @pytest.mark.parametrize(
        ("sections", "place"),
        [
            ({}, ("sagemaker-dev-123456789012-us-west-2", "lifecycle/jobs/")),
            ({"lifecycle": {"mode": "managed"}}, None),
            (
                {"lifecycle": {"mode": "managed"}, "identity": {"data_buckets": [DATA]}},
                ("my-data", "team/slurmpod-jobs/"),
            ),
        ],
    )
    def test_it_is_one_that_the_nodes_read(
        self, sections: dict[str, Any], place: tuple[str, str] | None
    ) -> None:
        resolved = resolve(sound_and(**sections))
        assert place_for_copies(resolved) == place


class TestRecord:
    def test_each_job_keeps_the_commit_that_it_was_made_from(
        self, shell: LocalShell, folder: Path
    ) -> None:
        git(folder, "init", "--quiet")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", "x")
        job = read_job_folder(folder)
        copy_job(shell, job)
        assert submit(shell, job, [], {}) == "12"
        record = json.loads((Path(job.place) / ".slurmpod-jobs" / "12.json").read_text())
        assert record["commit"] == {"id": git(folder, "rev-parse", "HEAD"), "is_dirty": False}
        assert len(record["files"]) == 32

    def test_a_job_that_is_refused_leaves_none_and_says_why(
        self, shell: LocalShell, folder: Path
    ) -> None:
        shell.add("sbatch", "echo no such partition >&2; exit 1")
        job = read_job_folder(folder)
        copy_job(shell, job)
        with pytest.raises(CommandFailed, match="no such partition"):
            submit(shell, job, [], {})
        assert not (Path(job.place) / ".slurmpod-jobs").exists()
