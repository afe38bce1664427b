"""What has no wheel: `job venv --from` names it by its digest, and the job builds it once."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from slurmpod.cli.main import run
from slurmpod.jobs.lint import lint
from slurmpod.jobs.venv.recipe import VENV
from slurmpod.problems import ExitCode
from tests.pure.jobs.test_render import resolved_of
from tests.pure.jobs.tiny_source import served, tiny_folder, tiny_repository, tiny_sdist
from tests.sound_environment import SOUND


@pytest.fixture
def web(tmp_path: Path) -> Path:
    """The folder that is served: an index with two archives, and a repository."""
    for name in ("first", "second"):
        place = tmp_path / "web" / "simple" / name
        place.mkdir(parents=True)
        archive = tiny_sdist(place, name)
        (place / "index.html").write_text(f'<a href="{archive.name}">{archive.name}</a>')
    return tmp_path / "web"


@pytest.fixture
def address(web: Path) -> Iterator[str]:
    with served(web) as address:
        yield address


def digest(web: Path, name: str) -> str:
    return hashlib.sha256((web / f"simple/{name}/{name}-1.2.tar.gz").read_bytes()).hexdigest()


class TestCommand:
    @pytest.fixture(autouse=True)
    def _no_other_packages(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("INDEX", "DEFAULT_INDEX", "FIND_LINKS", "OFFLINE"):
            monkeypatch.delenv(f"UV_{name}", raising=False)
        monkeypatch.setenv("UV_NO_CONFIG", "1")

    def made(self, folder: Path, address: str) -> Path:
        """Return the folder of the job for the list in `folder/mine`, in which it is written."""
        (folder / "dev.yaml").write_text(SOUND)
        out = folder / "mine" / "out"
        wanted = ("--from", str(folder / "mine" / "requirements.txt"), "--out", str(out))
        command = ("job", "venv", str(folder / "dev.yaml"), *wanted)
        assert run([*command, "--index", f"{address}/simple"]) == ExitCode.OK
        return out

    def test_archives_commits_and_folders_are_named_by_what_does_not_change(
        self, web: Path, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        commit = tiny_repository(web, "gitty")
        mine = tiny_folder(tmp_path, "mine")
        with (mine / "pyproject.toml").open("a") as project:
            project.write('[tool.uv]\nno-build-isolation-package = ["First"]\n')
        git = f"gitty @ git+{address}/gitty.git@main"
        (mine / "requirements.txt").write_text(f"first\n{git}\n-e .\n")
        out = self.made(tmp_path, address)
        (copy,) = (out / "sources").iterdir()
        assert (out / "requirements.txt").read_text() == ""
        assert sorted((out / "sources.txt").read_text().splitlines()) == [
            f"first==1.2 --no-build-isolation --hash=sha256:{digest(web, 'first')}",
            f"gitty @ git+{address}/gitty.git@{commit}",
            f"mine @ ./sources/{copy.name}",
        ]
        shown, told = capsys.readouterr()
        assert re.search(rf"^ +\d+  sources/{copy.name}/$", shown, re.MULTILINE)
        assert "the job builds first 1.2, which has no wheel\n" in told
        assert f"the job builds gitty from git: commit {commit[:12]} of main\n" in told
        assert "the job builds mine from .\n" in told
        script = (out / "make-venv.sbatch").read_text()
        assert "\n#SBATCH --exclusive\n" in script
        assert "--sources sources.txt" in script
        assert lint("make-venv.sbatch", script, resolved_of("dev")) == ()

    def test_a_folder_that_has_lost_a_file_is_built_without_it(
        self, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Copies lose no file, neither here nor on the cluster: each state has its place."""
        commit, work = tiny_repository(tmp_path, "mine"), tmp_path / "work"
        mine = work / "mine"
        (mine / "requirements.txt").write_text("-e .\n")
        (mine / "more.py").touch()
        before = (self.made(work, address) / "sources.txt").read_text()
        told = f"mine from . (commit {commit[:12]} with changes)"
        assert told in capsys.readouterr().err
        (mine / "more.py").unlink()
        out = self.made(work, address)
        now = (out / "sources.txt").read_text()
        assert now != before
        assert now == (self.made(work, address) / "sources.txt").read_text()
        place = out / now.strip().removeprefix("mine @ ./")
        names = {"backend.py", "pyproject.toml", "requirements.txt"}
        assert {each.name for each in place.iterdir()} == names

    def test_a_repository_that_asks_for_a_key_is_refused(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "dev.yaml").write_text(SOUND)
        for name, text in (("uv.lock", LOCK), ("pyproject.toml", PROJECT)):
            (tmp_path / name).write_text(text.replace("ADDRESS", "ssh://git@host/g.git"))
        command = ["job", "venv", str(tmp_path / "dev.yaml"), "--from", str(tmp_path)]
        assert run(command) == ExitCode.INVALID
        said = "gitty comes from git by SSH, for which nodes have no key"
        assert said in capsys.readouterr().err


PROJECT = """\
[project]
name = "mine"
version = "1"
dependencies = ["gitty"]

[tool.uv.sources]
gitty = { git = "ADDRESS" }
"""
LOCK = """\
version = 1
revision = 3
requires-python = ">=3.10"

[[package]]
name = "gitty"
version = "1"
source = { git = "ADDRESS#208e99708d8c4deb5329bc7655a32ec9a9fd094d" }

[[package]]
name = "mine"
version = "1"
source = { virtual = "." }
dependencies = [{ name = "gitty" }]
"""


BUILD = """\
import sys
from pathlib import Path
from build_sources import Builder, sources_of

pip = (sys.executable, "-m", "pip", "--no-input", "--disable-pip-version-check")
builder = Builder(pip, ("--index-url", sys.argv[1]), Path(sys.argv[2]))
for source in sources_of(Path("sources.txt")):
    builder.wheel(source)
"""
"""The part of the program that builds, with the Python of the tests: a new one takes seconds."""


@dataclass(frozen=True)
class VenvJob:
    """The folder of a job, and the index that it takes packages from."""

    folder: Path
    index: str

    @property
    def name(self) -> Path:
        return self.folder.parent / "venv"

    @property
    def kept(self) -> Path:
        return self.folder.parent / "built-wheels"

    def run(self, *sources: str) -> subprocess.CompletedProcess[str]:
        """Run the whole program with these sources."""
        words = ("--at", str(self.name), "--index", self.index, "--sources", "sources.txt")
        return self._python(sources, "make_venv.py", *words)

    def build(self, *sources: str) -> subprocess.CompletedProcess[str]:
        """Build these sources alone."""
        return self._python(sources, "-c", BUILD, self.index, str(self.kept))

    def _python(self, sources: Sequence[str], *words: str) -> subprocess.CompletedProcess[str]:
        (self.folder / "sources.txt").write_text("".join(f"{each}\n" for each in sources))
        return subprocess.run(
            [sys.executable, *words],
            cwd=self.folder,
            env={**os.environ, "PIP_CONFIG_FILE": "/dev/null", "PIP_FIND_LINKS": ""},
            capture_output=True,
            text=True,
        )


class TestProgram:
    @pytest.fixture
    def job(self, address: str, tmp_path: Path) -> VenvJob:
        folder = tmp_path / "job"
        folder.mkdir()
        for name, content in VENV.programs.items():
            (folder / name).write_bytes(content)
        (folder / "requirements.txt").touch()
        return VenvJob(folder, f"{address}/simple")

    def test_a_wheel_is_built_once_for_all_environments(
        self, job: VenvJob, web: Path, address: str
    ) -> None:
        first = f"first==1.2 --hash=sha256:{digest(web, 'first')}"
        gitty = f"gitty @ git+{address}/gitty.git@{tiny_repository(web, 'gitty')}"
        absent = "absent==3 ; sys_platform == 'win32' --hash=sha256:" + "1" * 64
        tiny_folder(job.folder / "sources", "mine")
        late = tiny_folder(job.folder / "sources", "late") / "backend.py"
        late.write_text(f"{late.read_text()}import gitty\n")
        among = "late @ ./sources/late --no-build-isolation"
        done = job.run(among, first, gitty, "mine @ ./sources/mine", absent)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "absent is not for this node" in done.stdout
        asked = "import first, gitty, late, mine; print(late.VERSION, mine.VERSION)"
        python = [str(job.name / "bin" / "python"), "-c", asked]
        assert subprocess.run(python, capture_output=True, text=True).stdout == "1.2 1.2\n"
        with (job.folder / "sources/mine/backend.py").open("a") as backend:
            backend.write("# changed\n")
        done = job.build(first, gitty, "mine @ ./sources/mine")
        told = [line.partition(": ")[0] for line in done.stdout.splitlines()]
        assert told == ["first was built before", "gitty was built before", "building mine"]

    def test_a_wheel_that_was_changed_is_built_again(self, job: VenvJob, web: Path) -> None:
        first = f"first==1.2 --hash=sha256:{digest(web, 'first')}"
        for _ in range(2):
            done = job.build(first)
            assert done.stdout == "building first\n", done.stderr
            (wheel,) = job.kept.glob("first-*/*.whl")
            wheel.write_bytes(wheel.read_bytes()[:100])

    def test_an_archive_with_another_sum_is_not_built(self, job: VenvJob) -> None:
        done = job.build(f"first==1.2 --hash=sha256:{'1' * 64}")
        assert done.returncode == 1
        assert "THESE PACKAGES DO NOT MATCH THE HASHES" in done.stderr
        assert not list(job.kept.glob("*/*.whl"))

    def test_a_build_that_fails_says_what_and_where_its_log_is(self, job: VenvJob) -> None:
        folder = tiny_folder(job.folder / "sources", "broken")
        (folder / "backend.py").write_text("raise SystemExit('no compiler here')\n")
        done = job.build("broken @ ./sources/broken")
        assert done.returncode == 1
        (log,) = job.kept.glob("broken-*.log")
        assert "no compiler here" in done.stderr
        assert f"broken was not built; its log: {log}\n  fix: choose nodes" in done.stderr
        assert "no compiler here" in log.read_text()
