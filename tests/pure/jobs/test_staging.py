"""`slurmpod job stage`: what is copied is the source's, nothing twice, and only that is removed."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from slurmpod.cli import job_stage
from slurmpod.cli.main import run
from slurmpod.jobs.lint import lint
from slurmpod.jobs.staging.recipe import STAGE
from slurmpod.operations.job_folder import JobFolder
from slurmpod.operations.staging_index import read_index
from slurmpod.problems import ExitCode, InvalidEnvironment
from tests.golden_files import ROOT, assert_matches
from tests.pure.jobs.local_shell import LocalShell
from tests.pure.jobs.test_render import resolved_of

GOLDEN = ROOT / "tests" / "cases" / "golden" / "stage"
GUARDED = ROOT / "environments/examples/guarded-data.yaml"
SUM = hashlib.sha256(b"one").hexdigest()

AWS = """\
#!PYTHON
# Stands in for the AWS CLI: the bucket is a folder. Objects named *.parts were uploaded in parts of
# 4 bytes, those named *.kms are encrypted; one that is named in CUT ends early once.
import hashlib, json, os, sys
from pathlib import Path
words, bucket = sys.argv[2:], Path(os.environ["BUCKET"])
given = dict(zip(words[1::2], words[2::2]))
with open(bucket.parent / "asked", "a") as asked:
    asked.write(f"{words[0]} {given.get('--key', '')} {given.get('--range', '')}\\n")
def etag(file):
    content = file.read_bytes()
    if file.suffix == ".kms":
        return "0" * 32
    if file.suffix == ".parts":
        parts = [content[i:i + 4] for i in range(0, len(content), 4)]
        digests = b"".join(hashlib.md5(each).digest() for each in parts)
        return f"{hashlib.md5(digests).hexdigest()}-{len(parts)}"
    return hashlib.md5(content).hexdigest()
if words[0] == "list-objects-v2":
    files = [each for each in sorted(bucket.rglob("*")) if each.is_file()]
    names = [(str(each.relative_to(bucket)), each) for each in files]
    names = [(name, file) for name, file in names if name.startswith(given["--prefix"])]
    print(json.dumps([[n, f.stat().st_size, f'"{etag(f)}"'] for n, f in names] or None))
elif words[0] == "head-object":
    print(json.dumps({"ContentLength": 4}))
else:
    file = bucket / given["--key"]
    if given.get("--if-match", '""').strip('"') not in ("", etag(file)):
        sys.exit("An error occurred (PreconditionFailed)")
    begin = int(given.get("--range", "bytes=0-")[6:-1])
    content = file.read_bytes()[begin:]
    cut = bucket.parent / "cut"
    ends_early = cut.exists() and cut.read_text() == given["--key"]
    with open(words[-1], "wb") as target:
        target.write(content[:2] if ends_early else content)
    if ends_early:
        cut.unlink()
        sys.exit("Connection was closed")
    print(json.dumps({"ServerSideEncryption": "aws:kms" if file.suffix == ".kms" else "AES256"}))
"""


@dataclass
class Staging:
    """The folder of the job, a bucket, and the folder on shared storage."""

    folder: Path
    bucket: Path
    at: Path
    source: str = "s3://data/set/"
    said: list[str] = field(default_factory=list)

    def put(self, **contents: bytes) -> None:
        for name, content in contents.items():
            file = self.bucket / "set" / name.replace("__", "/").replace("_", ".")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)

    def step(self, name: str, *, task: int = 0, tasks: int = 1) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "stage.py", name, "--at", str(self.at)]
        whence = ["--source", self.source, "--region", "us-west-2", "--streams", "2"]
        variables = {
            **os.environ,
            "PATH": f"{self.folder.parent / 'tools'}:{os.environ['PATH']}",
            "BUCKET": str(self.bucket),
            "SLURM_JOB_ID": "7",
            "SLURM_PROCID": str(task),
            "SLURM_NTASKS": str(tasks),
        }
        return subprocess.run(
            [*command, *(whence if name != "evict" else [])],
            cwd=self.folder,
            env=variables,
            capture_output=True,
            text=True,
        )

    def stage(self, *, tasks: int = 1) -> subprocess.CompletedProcess[str]:
        """Run the job as its script does; return its last step, with what all steps said."""
        listed = self.step("list")
        if listed.returncode:
            return listed
        copied = [self.step("copy", task=task, tasks=tasks) for task in range(tasks)]
        last = self.step("conclude")
        last.stdout = "".join(each.stdout for each in (listed, *copied, last))
        last.stderr = "".join(each.stderr for each in (listed, *copied, last))
        return last

    def asked(self) -> list[str]:
        """Return what has been asked of S3 since the last time, but for lists."""
        log = self.bucket.parent / "asked"
        lines = log.read_text().splitlines()
        log.unlink()
        return sorted(line.strip() for line in lines if not line.startswith("list"))

    def files(self) -> dict[str, bytes]:
        found = {str(each.relative_to(self.at)): each for each in self.at.rglob("*")}
        return {
            name: each.read_bytes()
            for name, each in sorted(found.items())
            if each.is_file() and not name.startswith(".slurmpod-staged")
        }


@pytest.fixture
def staging(tmp_path: Path) -> Staging:
    folder = tmp_path / "job"
    folder.mkdir()
    for name, content in STAGE.programs.items():
        text = content.decode().replace("PAUSE_SECONDS = 5.0", "PAUSE_SECONDS = 0.0")
        (folder / name).write_text(text)
    (tmp_path / "tools").mkdir()
    aws = tmp_path / "tools" / "aws"
    aws.write_text(AWS.replace("PYTHON", sys.executable))
    aws.chmod(0o755)
    found = Staging(folder, tmp_path / "bucket", tmp_path / "fsx" / "data")
    found.put(a_bin=b"first", b__c_bin=b"second", empty=b"")
    return found


class TestProgram:
    def test_all_is_copied_and_nothing_twice(self, staging: Staging) -> None:
        done = staging.stage(tasks=2)
        assert done.returncode == 0, done.stderr
        assert staging.files() == {"a.bin": b"first", "b/c.bin": b"second", "empty": b""}
        assert "3 files, 0.0 GB; 0 were staged before" in done.stdout
        assert "all 3 files are in" in done.stdout
        assert len(staging.asked()) == 3
        again = staging.stage()
        assert again.returncode == 0
        assert "3 were staged before" in again.stdout
        assert staging.asked() == []

    def test_what_differs_is_copied_anew(self, staging: Staging) -> None:
        staging.stage()
        staging.asked()
        staging.put(a_bin=b"other")
        (staging.at / "b" / "c.bin").write_bytes(b"mine")
        (staging.bucket / "set" / "empty").unlink()
        done = staging.stage()
        assert done.returncode == 0
        assert staging.asked() == ["get-object set/a.bin", "get-object set/b/c.bin"]
        assert staging.files()["a.bin"] == b"other"
        assert staging.files()["b/c.bin"] == b"second"
        assert "no longer in the source, and kept: empty" in done.stdout

    def test_one_that_was_cut_off_goes_on_where_it_ended(self, staging: Staging) -> None:
        (staging.bucket.parent / "cut").write_text("set/b/c.bin")
        assert staging.stage().returncode == 0
        got = [line for line in staging.asked() if "c.bin" in line]
        assert got == ["get-object set/b/c.bin", "get-object set/b/c.bin bytes=2-"]
        assert staging.files()["b/c.bin"] == b"second"

    def test_objects_of_parts_are_held_against_their_etag(self, staging: Staging) -> None:
        staging.put(whole_parts=b"12345678", rest_parts=b"1234567890")
        done = staging.stage()
        assert done.returncode == 0, done.stderr
        assert "by their size" not in done.stdout

    def test_it_says_what_is_known_by_its_size_alone(self, staging: Staging) -> None:
        staging.put(secret_kms=b"hidden")
        done = staging.stage()
        assert done.returncode == 0, done.stderr
        assert "known by their size alone, as S3 has no digest of theirs: secret.kms" in done.stdout

    def test_a_file_that_is_there_is_taken_if_it_is_the_same_and_else_left(
        self, staging: Staging
    ) -> None:
        (staging.at / "b").mkdir(parents=True)
        (staging.at / "a.bin").write_bytes(b"first")
        (staging.at / "b" / "c.bin").write_bytes(b"mine!!")
        done = staging.stage()
        assert done.returncode == 1
        assert "b/c.bin: another file is there, which was not staged: move it away" in done.stderr
        assert "1 of 3 files are not there: b/c.bin" in done.stdout
        assert staging.asked() == ["get-object set/empty"]
        assert staging.files()["b/c.bin"] == b"mine!!"

    def test_evicting_removes_what_is_as_it_was_staged(self, staging: Staging) -> None:
        staging.put(touched=b"same")
        staging.stage()
        (staging.at / "mine").write_bytes(b"mine")
        (staging.at / "a.bin").write_bytes(b"First")
        os.utime(staging.at / "touched")
        done = staging.step("evict")
        assert done.returncode == 0, done.stderr
        assert staging.files() == {"a.bin": b"First", "mine": b"mine"}
        assert sorted(each.name for each in staging.at.iterdir()) == ["a.bin", "mine"]
        assert "kept, as they were changed since: a.bin" in done.stdout
        assert "nothing was staged at" in staging.step("evict").stderr

    def test_nothing_is_left_where_nothing_else_was(self, staging: Staging) -> None:
        staging.stage()
        assert staging.step("evict").returncode == 0
        assert not staging.at.exists()

    def test_an_empty_prefix_and_odd_names_are_refused(self, staging: Staging) -> None:
        staging.source = "s3://data/none/"
        assert "there is nothing at s3://data/none/" in staging.stage().stderr
        staging.source = "s3://data/set/"
        (staging.bucket / "set" / ".slurmpod-staged").mkdir(exist_ok=True)
        (staging.bucket / "set" / ".slurmpod-staged" / "x").write_bytes(b"")
        assert "these cannot be names of files: '.slurmpod-staged/x'" in staging.stage().stderr


class WebServer(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class TestIndex:
    @pytest.fixture
    def address(self, staging: Staging) -> Iterator[str]:
        def handler(*given: Any) -> WebServer:
            return WebServer(*given, directory=str(staging.bucket))

        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        server.server_close()

    def test_its_files_come_from_the_web_and_from_s3(self, staging: Staging, address: str) -> None:
        first, second = (hashlib.sha256(each).hexdigest() for each in (b"first", b"second"))
        (staging.folder / "index.txt").write_text(
            f"# two\n{first} 5 {address}/set/a.bin x/one two\n"
            f"{second} 6 s3://data/set/b/c.bin second\n"
        )
        staging.source = "index.txt"
        done = staging.stage()
        assert done.returncode == 0, done.stderr
        assert staging.files() == {"second": b"second", "x/one two": b"first"}

    def test_a_file_with_another_digest_is_not_there(self, staging: Staging) -> None:
        (staging.folder / "index.txt").write_text(f"{SUM} 5 s3://data/set/a.bin a\n")
        staging.source = "index.txt"
        done = staging.stage()
        assert done.returncode == 1
        assert "a: its content is not what the source says: SHA-256" in done.stderr
        assert staging.files() == {}

    def test_all_mistakes_are_told_at_once_and_no_secret(self) -> None:
        lines = [
            f"{SUM} 5 s3://b/k a",
            f"{SUM} 5 s3://b/k",
            "1234 x ftp://b/k b",
            f"{SUM} 5 https://me:secret@host/k c",
            f"{SUM} 5 https://host/k?X-Amz-Signature=secret d",
            f"{SUM} 5 s3://b/k ../e",
            f"{SUM} 5 s3://b/k .slurmpod-staged/f",
            f"{SUM} 5 s3://b/k a",
            f"{SUM} 5 s3://b/k a/b",
        ]
        with pytest.raises(InvalidEnvironment) as caught:
            read_index("i", "\n".join(lines))
        assert [f"{each.where.line}: {each.message}" for each in caught.value.problems] == [
            "2: a line must have four words",
            "3: '1234' is not a SHA-256",
            "3: 'x' is not a number of bytes",
            "3: 'ftp://b/k' is not the address of a file",
            "4: the address at host contains a secret, which would be written to shared storage",
            "5: the address at host contains a secret, which would be written to shared storage",
            "6: '../e' is not a path below a folder",
            "7: .slurmpod-staged is reserved for staging's own files",
            "1: a is also a folder of other entries",
            "8: a is named twice",
        ]
        with pytest.raises(InvalidEnvironment) as empty:
            read_index("i", "# nothing\n")
        assert [each.message for each in empty.value.problems] == ["the index is empty"]


class TestCommand:
    PATIENTS = "s3://example-corp-patients/released"

    @pytest.mark.parametrize("kind", ["copy", "evict"])
    def test_the_job_is_the_reviewed_one(
        self, kind: str, update_golden: bool, tmp_path: Path
    ) -> None:
        places = [self.PATIENTS, "/fsx/data"] if kind == "copy" else ["--evict", "/fsx/data"]
        assert run(["job", "stage", str(GUARDED), *places, "--out", str(tmp_path)]) == ExitCode.OK
        (script,) = tmp_path.glob("*.sbatch")
        text = script.read_text()
        assert_matches(GOLDEN / f"{kind}.sbatch", text, update=update_golden)
        assert lint(script.name, text, resolved_of("examples/guarded-data")) == ()

    @pytest.mark.parametrize(
        ("places", "message"),
        [
            (["s3://example-corp-patients/", "/fsx/x"], "nodes may not read"),
            (["s3://other/released", "/fsx/x"], "nodes may not read s3://other/released/"),
            (["s3://", "/fsx/x"], "s3:// names no bucket"),
            (["s3://a", "/fsx/x"], "'a' is no name of a bucket"),
            ([PATIENTS, "/home/x"], "/home/x is on no file system that all nodes share"),
            ([PATIENTS], "arguments given: 1, needed: 2"),
            (["none.txt", "/fsx/x"], "none.txt: "),
            ([PATIENTS, "/fsx/x", "--nodes", "3"], "a job of 3 nodes cannot run"),
        ],
    )
    def test_what_cannot_be_is_refused_with_a_way_out(
        self, places: list[str], message: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(["job", "stage", str(GUARDED), *places]) == ExitCode.USAGE
        said = capsys.readouterr().err
        assert message in said
        assert "\n  fix: " in said

    def test_an_index_is_refused_where_nodes_may_not_read(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        index = tmp_path / "index.txt"
        index.write_text(f"{SUM} 5 s3://other/k a\n")
        assert run(["job", "stage", str(GUARDED), str(index), "/fsx/x"]) == ExitCode.USAGE
        assert "nodes may not read s3://other/k" in capsys.readouterr().err
        index.write_text(f"{SUM} 5 s3://example-corp-patients/released/k a\n")
        out = ["--out", str(tmp_path / "job")]
        assert run(["job", "stage", str(GUARDED), str(index), "/fsx/x", *out]) == ExitCode.OK
        assert (tmp_path / "job" / "index.txt").read_text() == index.read_text()


def test_records_are_lines_of_json(staging: Staging) -> None:
    staging.stage()
    lines = (staging.at / ".slurmpod-staged" / "manifest.jsonl").read_text().splitlines()
    assert [json.loads(line)["path"] for line in lines] == ["a.bin", "b/c.bin", "empty"]
    assert json.loads(lines[0])["sha256"] == hashlib.sha256(b"first").hexdigest()


class TestOnACluster:
    """What is asked and told before a job is submitted; nodes run it in tests/nodes."""

    @pytest.fixture
    def submitted(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        names: list[str] = []

        def submit(_: object, __: object, job: JobFolder, ___: object) -> ExitCode:
            names.append(job.script)
            return ExitCode.OK

        monkeypatch.setattr(job_stage, "submit_job", submit)
        return names

    def test_evicting_asks_for_the_environment_by_name(
        self,
        submitted: list[str],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        shell = LocalShell(tmp_path)
        shell.add("cat", "echo 2 files, 0.1 GB of an index")
        monkeypatch.setattr(job_stage, "shell_for", lambda *_: shell)
        command = ["job", "stage", str(GUARDED), "--evict", "/fsx/data"]
        monkeypatch.setattr("sys.stdin", io.StringIO("no\n"))
        assert run(command) == ExitCode.FAILED
        assert "staged there: 2 files, 0.1 GB of an index" in capsys.readouterr().err
        assert submitted == []
        monkeypatch.setattr("sys.stdin", io.StringIO("guarded-data\n"))
        assert run(command) == ExitCode.OK
        assert submitted == ["stage-data-fd0a98cd.sbatch"]
        shell.add("cat", "echo no such file; exit 1")
        assert run([*command, "--yes"]) == ExitCode.FAILED
        assert "nothing was staged at /fsx/data" in capsys.readouterr().err
