"""`slurmpod job venv`: only exact pins get into the job, and the job installs nothing else."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from slurmpod.cli.main import run
from slurmpod.jobs.lint import lint
from slurmpod.jobs.venv.pins import checked_requirements, pinned_wheels
from slurmpod.jobs.venv.recipe import LOCKED_PYTORCH, VENV
from slurmpod.problems import ExitCode, InvalidEnvironment
from tests.golden_files import ROOT, assert_matches
from tests.pure.jobs.test_render import resolved_of
from tests.pure.jobs.tiny_wheel import tiny_wheel
from tests.sound_environment import SOUND, sound_with

SUM = hashlib.sha256(b"one").hexdigest()
OTHER = hashlib.sha256(b"two").hexdigest()
GOLDEN = ROOT / "tests" / "cases" / "golden" / "venv"


def told(text: str) -> list[str]:
    with pytest.raises(InvalidEnvironment) as caught:
        checked_requirements("r.txt", text)
    return [f"{each.where.line}: {each.message}" for each in caught.value.problems]


class TestPins:
    @pytest.mark.parametrize(
        "text",
        [
            f"torch==2.13.0 --hash=sha256:{SUM}\n",
            f"torch==2.13.0+cpu \\\n  --hash=sha256:{SUM} \\\n  --hash=sha256:{OTHER}  # both\n",
            f"# all\n\na[b]==1 ; python_version < '3.11' and (x == 'y') --hash=sha256:{SUM}\n",
        ],
    )
    def test_exact_versions_with_hashes_are_taken_as_they_are(self, text: str) -> None:
        assert checked_requirements("r.txt", text) == text

    def test_pytorch_is_pinned(self) -> None:
        text = LOCKED_PYTORCH.read_text()
        assert checked_requirements("r.txt", text) == text
        assert "\ntorch==2.13.0 \\\n" in text

    def test_all_mistakes_are_told_with_their_lines_and_no_secret(self) -> None:
        lines = [
            "torch>=2",
            f"a==1.* --hash=sha256:{SUM}",
            "numpy==2 \\",
            "  # which one?",
            "",
            "b==1 --hash=md5:0",
            "-r more.txt",
            "--extra-index-url=https://me:secret@host/simple",
            "c @ https://me:secret@host/c.whl",
        ]
        assert told("\n".join(lines)) == [
            "1: 'torch>=2' pins no exact version",
            "2: 'a==1.*' pins no exact version",
            "3: 'numpy==2' has no hash",
            "6: 'b==1' has a hash that is not one of SHA-256",
            "7: -r names what is not on the node",
            "8: --extra-index-url says where files come from, and may hold a secret",
            "9: 'c' pins no exact version",
        ]

    def test_a_list_of_nothing(self) -> None:
        assert told("# torch\n") == ["1: nothing is pinned"]

    def test_wheels_are_pinned_by_name_version_and_sum(self) -> None:
        files = {
            "torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl": SUM,
            "torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_aarch64.whl": OTHER,
            "typing_extensions-4.16.0-1-py3-none-any.whl": SUM,
        }
        assert pinned_wheels("wheels", files) == (
            f"torch==2.13.0+cpu \\\n    --hash=sha256:{OTHER} \\\n    --hash=sha256:{SUM}\n"
            f"typing-extensions==4.16.0 \\\n    --hash=sha256:{SUM}\n"
        )

    def test_other_files_and_two_versions_are_refused(self) -> None:
        files = dict.fromkeys(
            ("a-1-py3-none-any.whl", "a-2-py3-none-any.whl", "b-1.tar.gz", "c.whl"), SUM
        )
        with pytest.raises(InvalidEnvironment) as caught:
            pinned_wheels("w", files)
        assert [(each.where.file, each.message) for each in caught.value.problems] == [
            ("w/b-1.tar.gz", "this is no wheel"),
            ("w/c.whl", "this is no wheel"),
            ("w", "a is there in several versions: 1, 2"),
        ]
        with pytest.raises(InvalidEnvironment):
            pinned_wheels("w", {})


class TestCommand:
    @pytest.fixture
    def environment(self, tmp_path: Path) -> str:
        (tmp_path / "dev.yaml").write_text(SOUND)
        return str(tmp_path / "dev.yaml")

    @pytest.fixture
    def wheels(self, tmp_path: Path) -> str:
        (tmp_path / "wheels").mkdir()
        tiny_wheel(tmp_path / "wheels")
        return str(tmp_path / "wheels")

    @pytest.mark.parametrize("name", ["dev", "closed-network"])
    def test_the_job_is_the_reviewed_one(
        self, name: str, wheels: str, update_golden: bool, tmp_path: Path
    ) -> None:
        path = "dev" if name == "dev" else f"examples/{name}"
        command = ["job", "venv", str(ROOT / f"environments/{path}.yaml"), "--out", str(tmp_path)]
        given = [] if name == "dev" else ["--wheels", wheels]
        assert run([*command, *given]) == ExitCode.OK
        script = (tmp_path / "make-venv.sbatch").read_text()
        assert_matches(GOLDEN / name / "make-venv.sbatch", script, update=update_golden)
        if name != "dev":
            addresses = (tmp_path / "wheels.txt").read_text()
            assert_matches(GOLDEN / name / "wheels.txt", addresses, update=update_golden)
        assert lint("make-venv.sbatch", script, resolved_of(path)) == ()
        shellcheck = shutil.which("shellcheck") or "shellcheck"
        done = subprocess.run(
            [shellcheck, "--external-sources", "make-venv.sbatch"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.stdout == ""

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--index", "https://me:secret@host/simple"], "contains a secret"),
            (["--index", "https://host/simple?token=secret"], "contains a secret"),
            (["--index", "host/simple"], "'host/simple' is not the address of an index"),
            (["--mirror"], "there are no wheels to mirror"),
            (["--wheels", "WHEELS", "--index", "https://host"], "wheels come from the bucket"),
            (["--at", "/home/me/venv"], "/home/me/venv is on no file system that all"),
            (["--partition", "gpu"], "there is no partition 'gpu'"),
        ],
    )
    def test_what_cannot_be_is_refused_with_a_way_out(
        self,
        arguments: list[str],
        message: str,
        environment: str,
        wheels: str,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        given = [wheels if each == "WHEELS" else each for each in arguments]
        assert run(["job", "venv", environment, *given]) == ExitCode.USAGE
        shown = capsys.readouterr()
        assert message in shown.err
        assert "\n  fix: " in shown.err
        assert "me:secret" not in shown.err
        assert shown.out == ""

    def test_a_closed_network_needs_wheels_or_an_index_of_its_own(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = str(ROOT / "environments/examples/closed-network.yaml")
        assert run(["job", "venv", file]) == ExitCode.USAGE
        assert "cannot reach a package index (network.closed)" in capsys.readouterr().err
        assert run(["job", "venv", file, "--index", "https://mirror.internal"]) == ExitCode.OK

    def test_a_cluster_without_scripts_has_no_bucket_for_wheels(
        self, wheels: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        text = sound_with("cluster:\n", "lifecycle: {mode: managed}\ncluster:\n")
        (tmp_path / "managed.yaml").write_text(text)
        command = ["job", "venv", str(tmp_path / "managed.yaml"), "--wheels", wheels]
        assert run(command) == ExitCode.USAGE
        assert "has no bucket that nodes read" in capsys.readouterr().err

    def test_a_folder_that_is_not_there(
        self, environment: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(["job", "venv", environment, "--wheels", "none"]) == ExitCode.FAILED
        assert "none cannot be read: No such file" in capsys.readouterr().err


PROJECT = """\
[project]
name = "mine"
version = "1"
requires-python = ">=3.10"
dependencies = ["tiny>=1"]
"""


UV_LOCK = """\
version = 1
revision = 3
requires-python = ">=3.10"

[[package]]
name = "mine"
version = "1"
source = { virtual = "." }
dependencies = [{ name = "tiny" }]

[package.metadata]
requires-dist = [{ name = "tiny", specifier = ">=1" }]

[[package]]
name = "tiny"
version = "1.1"
source = { registry = "https://host/simple" }
wheels = [{ url = "https://host/tiny-1.1-py3-none-any.whl", hash = "sha256:SUM", size = 1 }]
"""
"""As `uv lock` writes it; the wheel is older than that of the index."""


class TestFromARepository:
    @pytest.fixture(autouse=True)
    def _an_index(self, wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let uv know these wheels alone."""
        settings = {"FIND_LINKS": str(wheels), "NO_INDEX": "1", "OFFLINE": "1", "NO_CONFIG": "1"}
        for name, value in settings.items():
            monkeypatch.setenv(f"UV_{name}", value)

    @pytest.fixture
    def wheels(self, tmp_path: Path) -> Path:
        (tmp_path / "wheels").mkdir()
        tiny_wheel(tmp_path / "wheels")
        return tmp_path / "wheels"

    @pytest.fixture
    def repository(self, tmp_path: Path) -> Path:
        (tmp_path / "mine").mkdir()
        (tmp_path / "dev.yaml").write_text(SOUND)
        return tmp_path / "mine"

    def pins(self, repository: Path) -> str:
        """Return what the job installs."""
        folder = repository.parent
        command = ["job", "venv", str(folder / "dev.yaml"), "--from", str(repository)]
        assert run([*command, "--out", str(folder / "out")]) == ExitCode.OK
        return (folder / "out" / "requirements.txt").read_text()

    @pytest.mark.parametrize(
        ("name", "text"), [("requirements.txt", "tiny\n"), ("pyproject.toml", PROJECT)]
    )
    def test_what_it_names_is_pinned(
        self, name: str, text: str, repository: Path, wheels: Path
    ) -> None:
        (repository / name).write_text(text)
        (wheel,) = wheels.iterdir()
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        assert self.pins(repository) == f"tiny==1.2 \\\n    --hash=sha256:{digest}\n"

    def test_a_lock_is_taken_as_it_is(self, repository: Path) -> None:
        (repository / "pyproject.toml").write_text(PROJECT)
        (repository / "uv.lock").write_text(UV_LOCK.replace("SUM", SUM))
        assert self.pins(repository) == f"tiny==1.1 \\\n    --hash=sha256:{SUM}\n"

    def test_what_cannot_be_pinned_is_refused(
        self, repository: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        command = ["job", "venv", str(repository.parent / "dev.yaml"), "--from", str(repository)]
        assert run(command) == ExitCode.USAGE
        assert "does not list its packages" in capsys.readouterr().err
        (repository / "requirements.txt").write_text("tiny\nabsent==3\n")
        assert run(command) == ExitCode.USAGE
        said = capsys.readouterr().err
        assert "uv cannot resolve" in said
        assert "absent" in said
        (repository / "requirements.txt").write_text("tiny\n")
        (repository / "pyproject.toml").write_text("[tool]\nuv = 1\n")
        command[-1] += "/requirements.txt"
        assert run(command) == ExitCode.USAGE
        assert "pyproject.toml cannot be read" in capsys.readouterr().err


AWS = """\
#!/bin/sh
# aws s3 cp --only-show-errors --region REGION ADDRESS FOLDER
echo "$*" >> "$0.log"
cp "$BUCKET/${6##*/}" "$7"
"""


@dataclass(frozen=True)
class VenvJob:
    """The folder of the job, and what it is run with."""

    folder: Path
    name: Path
    wheel: Path

    def run(self) -> subprocess.CompletedProcess[str]:
        tools = self.folder / "tools"
        variables = {"PATH": f"{tools}:{os.environ['PATH']}", "BUCKET": str(self.wheel.parent)}
        command = [sys.executable, "make_venv.py", "--at", str(self.name)]
        return subprocess.run(
            [*command, "--wheels", "wheels.txt", "--region", "us-west-2"],
            cwd=self.folder,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
        )

    def pin(self, sha256: str) -> None:
        pins = f"tiny==1.2 --hash=sha256:{sha256}\n"
        (self.folder / "requirements.txt").write_text(pins)


class TestProgram:
    @pytest.fixture
    def job(self, tmp_path: Path) -> VenvJob:
        folder = tmp_path / "job"
        (folder / "tools").mkdir(parents=True)
        for name, content in VENV.programs.items():
            (folder / name).write_bytes(content)
        aws = folder / "tools" / "aws"
        aws.write_text(AWS)
        aws.chmod(0o755)
        wheel = tiny_wheel(tmp_path)
        (folder / "wheels.txt").write_text(f"s3://bucket/artefacts/x/{wheel.name}\n")
        job = VenvJob(folder, tmp_path / "venv", wheel)
        job.pin(hashlib.sha256(wheel.read_bytes()).hexdigest())
        return job

    def test_it_installs_what_is_pinned_and_is_there_the_second_time(self, job: VenvJob) -> None:
        done = job.run()
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith(f"PYTHON={job.name}/bin/python\n")
        assert (job.name / "bin" / "python").is_symlink(), "a copy lacks the libraries beside it"
        asked = [str(job.name / "bin" / "python"), "-c", "import tiny; print(tiny.VERSION)"]
        assert subprocess.run(asked, capture_output=True, text=True).stdout == "1.2\n"
        again = job.run()
        assert again.returncode == 0
        assert f"{job.name.resolve()} is there already" in again.stdout
        assert len((job.folder / "tools" / "aws.log").read_text().splitlines()) == 1

    def test_a_file_with_another_sum_is_not_installed_and_nothing_leads_to_it(
        self, job: VenvJob
    ) -> None:
        job.pin(SUM)
        done = job.run()
        assert done.returncode == 1
        assert "THESE PACKAGES DO NOT MATCH THE HASHES" in done.stderr
        assert "pip has installed nothing" in done.stderr
        assert not job.name.is_symlink()
        assert not list(job.name.parent.glob("venv-*/COMPLETE"))

    def test_a_folder_of_somebody_else_is_left_as_it_is(self, job: VenvJob) -> None:
        job.name.mkdir()
        (job.name / "mine").touch()
        done = job.run()
        assert done.returncode == 1
        assert "is no link of this job: move it away, or choose another --at" in done.stderr
        assert [path.name for path in job.name.iterdir()] == ["mine"]
