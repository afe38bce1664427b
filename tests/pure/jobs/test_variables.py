"""Variables and secrets of a job: what is refused, what is quoted, and how a secret arrives."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from slurmpod.bundle.templates import render
from slurmpod.cli.main import run
from slurmpod.environment.environment import Environment
from slurmpod.jobs.allocation import JobRefused
from slurmpod.jobs.variables import Variables, variables_of
from slurmpod.problems import ExitCode
from slurmpod.reading.read import Reading
from slurmpod.resolve import Resolved, resolve
from tests.sound_environment import SOUND, sound_data

ARN = "arn:aws:secretsmanager:us-west-2:123456789012:secret:hub/token-AbCdEf"
ALLOWED = f"identity: {{job_secrets: [{{secret_arn: '{ARN}'}}]}}\n"


@pytest.fixture(scope="module")
def resolved() -> Resolved:
    data = sound_data() | {"identity": {"job_secrets": [{"secret_arn": ARN}]}}
    return resolve(Reading(Environment.model_validate(data, strict=False)))


def given(
    resolved: Resolved, *values: str, lines: str = "", secret: str = "", in_container: bool = False
) -> Variables:
    secrets = [secret] if secret else []
    return variables_of(values, lines.splitlines(), secrets, resolved, in_container=in_container)


def test_an_option_wins_over_the_file(resolved: Resolved) -> None:
    lines = "# where models are\n\nHF_HOME=/fsx/hub  \nA=b = c\n"
    found = given(resolved, "HF_HOME=/fsx/other", "EMPTY=", lines=lines)
    assert found.values == {"HF_HOME": "/fsx/other", "A": "b = c", "EMPTY": ""}
    assert found.for_submission == found.values


def test_a_secret_is_told_by_its_arn(resolved: Resolved) -> None:
    found = given(resolved, "A=b", secret=f"HF_TOKEN={ARN}")
    assert found.for_submission == {"A": "b", "SLURMPOD_SECRETS": f"HF_TOKEN={ARN}"}


@pytest.mark.parametrize(
    ("values", "lines", "secret", "message"),
    [
        (["A"], "", "", "'A' names no variable"),
        (["A-B=c"], "", "", "'A-B' names no variable"),
        (["A=1", "A=2"], "", "", "A is given twice"),
        (["SBATCH_PARTITION=x"], "", "", "SBATCH_PARTITION is a variable of Slurm"),
        ([], "SLURMPOD_SECRETS=x", "", "SLURMPOD_SECRETS is a variable of Slurm"),
        ([], "A='b'", "", "the value of A stands in quotes"),
        (["HF_TOKEN=hf_" + 34 * "a"], "", "", "the value of HF_TOKEN looks like a secret"),
        ([], "WANDB_API_KEY=" + 20 * "a1", "", "the value of WANDB_API_KEY looks like a secret"),
        (["T=x"], "", f"T={ARN}", "T is both a variable and a secret"),
        ([], "", "T=hf_abcdef", "a --secret has no ARN of Secrets Manager"),
        ([], "", f"T={ARN} x", "a --secret has no ARN of Secrets Manager"),
        ([], "", f"T={ARN}x", f"workers may not read {ARN}x"),
    ],
)
def test_what_cannot_be_is_refused(
    values: list[str], lines: str, secret: str, message: str, resolved: Resolved
) -> None:
    with pytest.raises(JobRefused) as refused:
        given(resolved, *values, lines=lines, secret=secret)
    assert message in refused.value.message
    assert "hf_" not in f"{refused.value.message} {refused.value.fix}"


def test_a_container_keeps_what_is_its_images(resolved: Resolved) -> None:
    assert given(resolved, "PYTHONPATH=src").values == {"PYTHONPATH": "src"}
    with pytest.raises(JobRefused, match="PYTHONPATH is not passed into a container"):
        given(resolved, "PYTHONPATH=src", in_container=True)


def test_a_rendered_script_has_variables_quoted_and_arns_alone(tmp_path: Path) -> None:
    environment, out = tmp_path / "env.yaml", tmp_path / "out"
    environment.write_text(SOUND + ALLOWED)
    odd = 'a\'b $(touch x); `c` \\ "d"\n#SBATCH --nodes=9'
    command = ["job", "render", str(environment), "own-program", "--out", str(out)]
    assert run([*command, "--env", f"ODD={odd}", "--secret", f"T={ARN}"]) == ExitCode.OK
    text = (out / "own-program.sbatch").read_text()
    asked, _, _ = text.partition("\n# Nothing is computed")
    asked = asked.replace("source ./secrets.sh", "true")
    show = 'printf "%s|" "$ODD" "$SLURMPOD_SECRETS"'
    done = subprocess.run(
        ["bash", "-c", f"{asked}\n{show}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "SLURMPOD_SECRETS": "U=arn"},
    )
    assert done.stdout == f"{odd}|T={ARN} U=arn|"
    assert not (tmp_path / "x").exists()


def test_a_refusal_is_one_clear_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    environment = tmp_path / "env.yaml"
    environment.write_text(SOUND)
    command = ["job", "render", str(environment), "own-program"]
    assert run([*command, "--secret", f"T={ARN}"]) == ExitCode.USAGE
    said = capsys.readouterr().err
    assert said == (
        f"the role of dev's workers may not read {ARN}\n"
        "  fix: add it under identity.job_secrets, and deploy: secretsmanager:GetSecretValue\n"
    )
    assert run([*command, "--env-file", str(tmp_path / "none")]) == ExitCode.USAGE
    assert "cannot read the file" in capsys.readouterr().err


AWS = """\
#!/bin/bash
echo "$*" >>asked
case $* in
    *missing*) echo AccessDeniedException >&2; exit 254 ;;
    *binary*) echo None ;;
    *) printf 'two\\nlines $x\\n' ;;
esac
"""


def taken(folder: Path, secrets: str) -> subprocess.CompletedProcess[str]:
    """Source the rendered script as a batch script does, and print the variables."""
    (folder / "secrets.sh").write_text(render("jobs/secrets.sh", {}))
    (folder / "aws").write_text(AWS)
    (folder / "aws").chmod(0o755)
    show = (
        "set -euo pipefail; source ./secrets.sh; printenv A; printenv B; set | grep ^secret= || :"
    )
    variables = {"PATH": f"{folder}:{os.environ['PATH']}", "SLURMPOD_SECRETS": secrets}
    return subprocess.run(
        ["bash", "-c", show], cwd=folder, env=variables, capture_output=True, text=True
    )


def test_secrets_become_variables_of_the_job(tmp_path: Path) -> None:
    other = ARN.replace("us-west-2", "eu-west-1")
    done = taken(tmp_path, f"A={ARN} B={other}")
    assert done.stdout == 2 * "two\nlines $x\n"
    asked = (tmp_path / "asked").read_text().splitlines()
    assert [line.split("--region ")[1].split()[:3] for line in asked] == [
        ["us-west-2", "--secret-id", ARN],
        ["eu-west-1", "--secret-id", other],
    ]


@pytest.mark.parametrize("name", ["missing", "binary"])
def test_a_job_ends_where_a_secret_cannot_be_read(name: str, tmp_path: Path) -> None:
    arn = ARN.replace("token", name)
    done = taken(tmp_path, f"A={arn}")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"A cannot be read from Secrets Manager, or is not text: {arn}\n" in done.stderr
