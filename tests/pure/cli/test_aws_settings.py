"""Settings of AWS that cannot be used, in every command that asks it."""

from __future__ import annotations

from pathlib import Path

import pytest

from slurmpod.cli.main import run
from slurmpod.problems import ExitCode
from tests.sound_environment import SOUND

MORE = f"""\
monitoring: {{prometheus: {{scrape_seconds: 30}}, grafana: {{}}}}
lifecycle:
  containers: true
  artefacts: [{{name: enroot, url: https://example.com/enroot.deb, sha256: {"0" * 64}}}]
"""


@pytest.mark.parametrize(
    "command",
    [
        "adopt FILE",
        "artefacts list FILE",
        "connect FILE",
        "dashboards FILE --push",
        "diff FILE",
        "lifecycle report FILE",
        "permissions FILE --check",
    ],
)
def test_a_profile_that_is_not_there_is_told_in_a_sentence(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_PROFILE", "there-is-none")
    file = tmp_path / "dev.yaml"
    file.write_text(SOUND + MORE)
    assert run(command.replace("FILE", str(file)).split()) == ExitCode.FAILED
    said = capsys.readouterr().err.splitlines()
    assert said[-1].endswith(
        "cannot use the AWS settings of this shell: "
        "The config profile (there-is-none) could not be found"
    )
