"""The wheel in a new virtual environment: what installing slurmpod gives to others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.server import EmbeddedAws
from slurmpod.problems import ExitCode
from tests.checkout_copy import tracked
from tests.cloud.cdk_account import ACCOUNT, REGION, Account
from tests.cloud.library_page import OF_A_FILE, OF_CONSTRUCTS, write_files
from tests.cloud.wheel import install, make_wheel
from tests.golden_files import ROOT

PACKAGES = {"embedded_aws", "slurmpod", "slurmpod_cdk", "slurmpod_lifecycle"}
TYPED = ("embedded_aws", "slurmpod", "slurmpod_cdk")
WHERE_FROM = "import slurmpod_cdk; print(slurmpod_cdk.__file__)"
FILES = ("app.py", "cdk.json", "package.json", "package-lock.json")
FOLDERS = ("functions", "lifecycle_scripts", "templates")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_wheel(tmp_path_factory.mktemp("wheel"))


def test_it_holds_all_packages_and_folders_and_nothing_else(wheel: Path) -> None:
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    packages = set(tracked("embedded_aws", "slurmpod"))
    stacks = {name.replace("stacks/", "slurmpod_cdk/", 1) for name in tracked("stacks")}
    scripts = {
        name.removeprefix("lifecycle_scripts/")
        for name in tracked("lifecycle_scripts/slurmpod_lifecycle")
    }
    folders = {f"slurmpod/data/{name}" for name in tracked(*FOLDERS, *FILES)}
    assert held == packages | stacks | scripts | folders
    assert {name.partition("/")[0] for name in held} == PACKAGES
    assert {f"{package}/py.typed" for package in TYPED} <= held


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the programs of a new virtual environment with the wheel and what it requires."""
    return install(wheel, tmp_path_factory.mktemp("installed") / "venv")


def test_a_bare_installation_works_and_names_what_a_command_lacks(
    installed: Path, tmp_path: Path
) -> None:
    def slurmpod(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [installed / "slurmpod", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )

    environment = str(ROOT / "environments/dev.yaml")
    for command in ("validate", "expand", "render"):
        result = slurmpod(command, environment)
        assert result.returncode == ExitCode.OK, result.stderr
    (tmp_path / "train.sbatch").write_text("#!/bin/bash\n#SBATCH --nodes=2\nsrun hostname\n")
    linted = slurmpod("job", "lint", "train.sbatch")
    assert linted.returncode == ExitCode.OK, linted.stderr
    for command, extra in (("diff", "aws"), ("rehearse", "rehearsal")):
        result = slurmpod(command, environment)
        assert result.returncode == ExitCode.UNPREPARED
        assert f"fix: pip install 'slurmpod[{extra}]'" in result.stderr
        assert "Traceback" not in result.stderr


def test_apps_of_the_library_page_need_no_checkout(installed: Path, tmp_path: Path) -> None:
    """The CDK itself is that of the tests: it is large, and installed for them already."""
    write_files(tmp_path)
    (tmp_path / "hpc_app.py").write_text("\n".join((OF_CONSTRUCTS, OF_A_FILE, WHERE_FROM)))
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [installed / "python", "hpc_app.py"],
        cwd=tmp_path,
        env={
            "CDK_OUTDIR": str(tmp_path / "cdk.out"),
            "PATH": programs,
            "PYTHONPATH": sysconfig.get_paths()["purelib"],
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(installed.parent)
    template = json.loads((tmp_path / "cdk.out/Hpc.template.json").read_text())
    kinds = {resource["Type"] for resource in template["Resources"].values()}
    assert {"AWS::FSx::FileSystem", "AWS::SageMaker::Cluster"} <= kinds
    assert list((tmp_path / "cdk.out/assembly-Prod").glob("*researchcluster*.template.json"))


def test_an_installed_package_deploys_a_file_from_anywhere(installed: Path, tmp_path: Path) -> None:
    """Beside nothing of ours but the CDK's command line, as `npm install` brings it."""
    for name in ("config", "elsewhere"):
        (tmp_path / name).mkdir()
    dev = (ROOT / "environments/dev.yaml").read_bytes()
    (tmp_path / "config/dev.yaml").write_bytes(dev)
    (tmp_path / "elsewhere/node_modules").symlink_to(ROOT / "node_modules")
    with EmbeddedAws(account=ACCOUNT, region=REGION) as aws:
        aws.start(CloudOnlyPlatform())
        account = Account(aws, home=tmp_path / "home")
        account.bootstrap()
        options = ("--yes", "--no-nodes", "--only", "network")
        done = subprocess.run(
            [installed / "slurmpod", "deploy", "../config/dev.yaml", *options],
            cwd=tmp_path / "elsewhere",
            env={
                **account.variables,
                "PATH": f"{installed}:{os.environ['PATH']}",
                "PYTHONPATH": sysconfig.get_paths()["purelib"],
            },
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert done.returncode == 0, done.stderr
        assert "dev-network" in account.stacks()
    assert done.stderr.endswith("next: slurmpod diff ../config/dev.yaml\n")
