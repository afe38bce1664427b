"""Commands that AWS does not answer: without credentials, without rights, and when it is busy.

Each ends with a sentence that has AWS's own word for it, and has changed nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError

from slurmpod.cli.main import run
from slurmpod.problems import ExitCode
from tests.sound_environment import SOUND

MORE = f"""\
monitoring: {{prometheus: {{scrape_seconds: 30}}, grafana: {{}}}}
slurm: {{records_backup: {{}}}}
lifecycle:
  containers: true
  artefacts: [{{name: enroot, url: https://example.com/enroot.deb, sha256: {"0" * 64}}}]
"""
BATCH = "#!/bin/bash\n#SBATCH --time=1:00:00\n#SBATCH --chdir=/fsx/ubuntu/job\nsrun hostname\n"
COMMANDS = (
    "adopt dev.yaml --yes",
    "artefacts list dev.yaml",
    "artefacts mirror dev.yaml",
    "backup dev.yaml",
    "connect dev.yaml",
    "cost dev.yaml",
    "dashboards dev.yaml --output out --pictures",
    "dashboards dev.yaml --push",
    "deploy dev.yaml --yes",
    "destroy dev.yaml --yes",
    "diff dev.yaml",
    "job cancel dev.yaml 7",
    "job logs dev.yaml 7",
    "job status dev.yaml",
    "job submit dev.yaml job",
    "lifecycle report dev.yaml",
    "lifecycle run dev.yaml --yes",
    "logs dev.yaml",
    "node add dev.yaml workers 1 --yes",
    "node drain dev.yaml ip-10-0-0-4 --yes",
    "observe dev.yaml --compare",
    "patch dev.yaml --yes",
    "plan dev.yaml --deployed",
    "preflight dev.yaml",
    "report dev.yaml",
    "scale dev.yaml workers 3 --yes",
    "ssh-config dev.yaml",
    "status dev.yaml",
    "why dev.yaml ip-10-0-0-4",
)
SHOW_THE_REST = ("preflight", "report", "status")
"""They say in each place what they were refused, and show what they were not."""

IDENTITY = {"Account": "123456789012", "Arn": "arn:aws:iam::123456789012:user/newcomer"}


@pytest.fixture(autouse=True)
def _somebody_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with an environment and a job, and a shell that knows nothing of AWS."""
    (tmp_path / "dev.yaml").write_text(SOUND + MORE)
    (tmp_path / "job").mkdir()
    (tmp_path / "job/train.sbatch").write_text(BATCH)
    plugin = tmp_path / "bin/session-manager-plugin"
    plugin.parent.mkdir()
    plugin.write_text("#!/bin/sh\necho 1.2.764.0\n")
    plugin.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(plugin.parent), prepend=":")
    monkeypatch.setenv("SLURMPOD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("command", COMMANDS)
def test_without_credentials(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command.split()) == (ExitCode.OK if command == "report dev.yaml" else 1)
    assert "Unable to locate credentials" in "".join(capsys.readouterr())


@pytest.mark.parametrize("code", ["AccessDeniedException", "ThrottlingException"])
@pytest.mark.parametrize("command", COMMANDS)
def test_when_aws_refuses_everything_but_who_asks(
    command: str,
    code: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    def refuse(_: BaseClient, operation: str, __: Any) -> Any:
        if operation == "GetCallerIdentity":
            return IDENTITY
        raise ClientError({"Error": {"Code": code, "Message": "no"}}, operation)

    monkeypatch.setattr(BaseClient, "_make_api_call", refuse)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "unused")
    shows_the_rest = command.startswith(SHOW_THE_REST)
    assert run(command.split()) == (ExitCode.OK if shows_the_rest else ExitCode.FAILED)
    shown = "".join(capsys.readouterr())
    if command == "report dev.yaml":
        shown = (tmp_path / "report.html").read_text()
    assert code in shown
    assert (tmp_path / "dev.yaml").read_text() == SOUND + MORE
