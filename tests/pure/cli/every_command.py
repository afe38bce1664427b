"""A command line for every command and action of `slurmpod`, and a shell in which they run.

A command that is missing here is noticed: `test_every_command.py` asks the parsers which there are.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import pytest

from slurmpod.cli.commands import COMMANDS
from slurmpod.cli.main import parser_of
from tests.sound_environment import SOUND

ENVIRONMENT = f"""\
{SOUND}\
monitoring: {{prometheus: {{scrape_seconds: 30}}, grafana: {{}}}}
slurm: {{records_backup: {{}}}}
lifecycle:
  containers: true
  artefacts: [{{name: enroot, url: https://example.com/enroot.deb, sha256: {"0" * 64}}}]
"""
BATCH = "#!/bin/bash\n#SBATCH --time=1:00:00\n#SBATCH --chdir=/fsx/ubuntu/job\nsrun hostname\n"
LOG = "step 1 loss 2.0 train_samples_per_second 3.0\n"

ASKING = {
    "adopt": "dev.yaml --yes",
    "artefacts list": "dev.yaml",
    "artefacts mirror": "dev.yaml",
    "backup": "dev.yaml",
    "capacity buy": "p5.yaml workers tpo-1 june --pay 480.00",
    "capacity extend": "p5.yaml june --days 2 --pay 960.00",
    "capacity search": "p5.yaml workers --days 100",
    "capacity show": "dev.yaml",
    "connect": "dev.yaml",
    "cost": "dev.yaml",
    "dashboards": "dev.yaml --output out --pictures",
    "deploy": "dev.yaml --yes",
    "destroy": "dev.yaml --yes",
    "diff": "dev.yaml",
    "job cancel": "dev.yaml 7",
    "job logs": "dev.yaml 7",
    "job stage": "dev.yaml --evict /fsx/data --yes",
    "job status": "dev.yaml",
    "job submit": "dev.yaml job",
    "lifecycle report": "dev.yaml",
    "lifecycle run": "dev.yaml --yes",
    "logs": "dev.yaml",
    "migrate": "dev.yaml --yes",
    "node add": "dev.yaml workers 1 --yes",
    "node check": "dev.yaml ip-10-0-0-4",
    "node delete": "dev.yaml ip-10-0-0-4 --yes",
    "node drain": "dev.yaml ip-10-0-0-4 --yes",
    "node reboot": "dev.yaml ip-10-0-0-4 --yes",
    "node replace": "dev.yaml ip-10-0-0-4 --yes",
    "node resume": "dev.yaml ip-10-0-0-4 --yes",
    "observe": "dev.yaml --compare",
    "patch": "dev.yaml --yes",
    "plan": "dev.yaml --deployed",
    "preflight": "dev.yaml",
    "report": "dev.yaml",
    "scale": "dev.yaml workers 3 --yes",
    "ssh-config": "dev.yaml --user alice",
    "status": "dev.yaml",
    "why": "dev.yaml ip-10-0-0-4",
}
"""What asks AWS, and cannot do without an answer."""

OTHERS = {
    "completion": "bash",
    "expand": "dev.yaml",
    "explain": "NET-001",
    "init": "new.yaml --account 123456789012 --region us-west-2 --zone us-west-2b",
    "job adopt": "dev.yaml job --out rendered -- torchrun train.py",
    "job image": "dev.yaml nvcr.io/nvidia/pytorch:25.06-py3 --out rendered",
    "job lint": "job/train.sbatch",
    "job list": "",
    "job metrics": "train.log --svg train.svg",
    "job plan": "p5.yaml --model llama2-70b --sequence 4096 --global-batch 1024",
    "job render": "dev.yaml check-nodes --out rendered",
    "job venv": "dev.yaml --out rendered",
    "permissions": "dev.yaml",
    "render": "dev.yaml --out bundle",
    "schema": "--write schema.json",
    "validate": "dev.yaml",
}

REHEARSED = {
    "prepare": "tests/pure/cli/test_prepare.py",
    "rehearsal down": "tests/nodes/test_take_down.py",
    "rehearsal env": "tests/pure/cli/test_kept_rehearsals.py",
    "rehearsal fault": "tests/pure/cli/test_drill_commands.py",
    "rehearsal list": "tests/pure/cli/test_kept_rehearsals.py",
    "rehearsal shell": "tests/pure/cli/test_kept_rehearsals.py",
    "rehearse": "tests/nodes/test_take_down.py",
}
"""What works on nodes of this machine, and the tests that interrupt it or let it fail."""

WITHOUT_JSON = {
    "completion": "its result is a script",
    "rehearsal shell": "what it prints is what the shell prints",
    "schema": "its result is JSON",
}


def parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield every command and action, such as `node drain`, with its parser."""
    for name in COMMANDS:
        yield from _leaves(name, parser_of(name))


def _leaves(
    name: str, parser: argparse.ArgumentParser
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    kinds = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    if not kinds:
        yield name, parser
    for kind in kinds:
        for action, inner in kind.choices.items():
            yield from _leaves(f"{name} {action}", inner)


def lay_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go to a folder with an environment, a job and its log, in a shell that knows no AWS."""
    (folder / "dev.yaml").write_text(ENVIRONMENT)
    (folder / "p5.yaml").write_text(SOUND.replace("ml.m5.xlarge", "ml.p5.48xlarge"))
    (folder / "train.log").write_text(LOG)
    (folder / "job").mkdir()
    (folder / "job/train.sbatch").write_text(BATCH)
    plugin = folder / "bin/session-manager-plugin"
    plugin.parent.mkdir()
    for program in (plugin, plugin.with_name("aws")):
        program.write_text("#!/bin/sh\necho 1.2.764.0\n")
        program.chmod(0o755)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", str(plugin.parent), prepend=":")
    monkeypatch.setenv("HOME", str(folder / "home"))
    monkeypatch.setenv("SLURMPOD_HOME", str(folder / "home"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(folder / "none"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)


def let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the shell credentials, which nobody checks."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "unused")
