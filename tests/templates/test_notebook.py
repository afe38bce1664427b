"""The notebook stack: private, encrypted, least rights, and a script that fits and is quoted."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from slurmpod_cdk.nag.review import review
from slurmpod_cdk.notebook import script_of
from slurmpod_cdk.storage.stack import FileSystems, MountTarget
from tests.cloud.nothing_lost_kinds import RETAINED
from tests.served import ENDPOINT, served
from tests.templates.linting import lint
from tests.templates.synthesis import Synthesized, Template, of_type, only, synthesize

INSTANCE = "AWS::SageMaker::NotebookInstance"
KEY = "arn:aws:kms:us-west-2:123456789012:key/12345678-1234-1234-1234-123456789012"
SCRIPT_LIMIT = 16_384
"""Characters of a script in base64 (API reference, NotebookInstanceLifecycleHook)."""

FSX = MountTarget("fs-1", "fs-1.fsx.us-west-2.amazonaws.com", "abcdefgh")
FILE_SYSTEMS = FileSystems(None, {"lustre": FSX}, None)


@pytest.fixture(scope="module")
def plain() -> Synthesized:
    return synthesize(served(services={"notebook": {}}))


@pytest.fixture(scope="module")
def full() -> Synthesized:
    """Return one with all that can be written, beside an endpoint."""
    notebook = {
        "instance_type": "ml.g5.xlarge",
        "shared_storage": "none",
        "root_access": True,
        "direct_internet": True,
        "kms_key_arn": KEY,
        "on_delete": "delete",
    }
    return synthesize(served(services={"notebook": notebook, "endpoint": ENDPOINT}))


def template(made: Synthesized) -> Template:
    return made.templates["notebook"]


def statements(made: Synthesized) -> dict[str, Any]:
    (policy,) = only(template(made), "AWS::IAM::Role")["Policies"]
    return {each["Sid"]: each for each in policy["PolicyDocument"]["Statement"]}


def script(**notebook: Any) -> str:
    resolved = served(services={"notebook": notebook})
    assert resolved.notebook
    return script_of(resolved, resolved.notebook, FILE_SYSTEMS)


def test_an_environment_without_it_has_no_notebook_stack() -> None:
    assert served().stacks.notebook is None


class TestInstance:
    def test_it_is_private_and_its_user_is_nobody(self, plain: Synthesized) -> None:
        instance = only(template(plain), INSTANCE)
        assert instance["DirectInternetAccess"] == instance["RootAccess"] == "Disabled"
        metadata = instance["InstanceMetadataServiceConfiguration"]
        assert metadata == {"MinimumInstanceMetadataServiceVersion": "2"}
        assert instance["NotebookInstanceName"] == "dev"
        assert len(instance["SecurityGroupIds"]) == 1

    def test_its_volume_has_a_key_of_its_own_or_one_that_is_named(
        self, plain: Synthesized, full: Synthesized
    ) -> None:
        assert only(template(plain), "AWS::KMS::Key")["EnableKeyRotation"] is True
        assert "Fn::GetAtt" in only(template(plain), INSTANCE)["KmsKeyId"]
        assert only(template(full), INSTANCE)["KmsKeyId"] == KEY
        assert not of_type(template(full), "AWS::KMS::Key")

    def test_it_outlives_its_stack_with_all_that_it_runs_with(self, plain: Synthesized) -> None:
        for kind in (INSTANCE, f"{INSTANCE}LifecycleConfig", "AWS::IAM::Role", "AWS::KMS::Key"):
            (resource,) = of_type(template(plain), kind).values()
            assert {key: resource.get(key) for key in RETAINED} == RETAINED

    def test_it_goes_with_its_stack_where_the_environment_says_so(self, full: Synthesized) -> None:
        (resource,) = of_type(template(full), INSTANCE).values()
        assert resource["DeletionPolicy"] == "Delete"


class TestRole:
    def test_it_stops_itself_and_calls_the_one_endpoint(
        self, plain: Synthesized, full: Synthesized
    ) -> None:
        own = "arn:aws:sagemaker:us-west-2:123456789012:notebook-instance/dev"
        assert statements(plain)["StopItself"]["Resource"] == own
        assert "CallEndpoint" not in statements(plain)
        endpoint = "arn:aws:sagemaker:us-west-2:123456789012:endpoint/dev"
        assert statements(full)["CallEndpoint"]["Resource"] == endpoint

    def test_it_writes_into_its_own_log_streams(self, plain: Synthesized) -> None:
        streams = statements(plain)["WriteLog"]["Resource"]
        assert streams.endswith("/aws/sagemaker/NotebookInstances:log-stream:dev/*")


class TestScript:
    def test_it_fits_and_passes_shellcheck(self, tmp_path: Path) -> None:
        text = script()
        assert len(base64.b64encode(text.encode())) < SCRIPT_LIMIT * 3 // 4
        file = tmp_path / "on_start.sh"
        file.write_text(text)
        _, _, mounts = text.partition("<<'MOUNTS'\n")
        (tmp_path / "mount.sh").write_text(mounts.partition("\nMOUNTS\n")[0] + "\n")
        shellcheck = shutil.which("shellcheck") or "shellcheck"
        files = [str(file), str(tmp_path / "mount.sh")]
        result = subprocess.run([shellcheck, *files], capture_output=True, text=True)
        assert (result.returncode, result.stdout) == (0, "")

    def test_it_mounts_where_nodes_do_and_reads_only(self) -> None:
        source = "'fs-1.fsx.us-west-2.amazonaws.com@tcp:/abcdefgh'"
        wanted = f"mount_one lustre ro,noatime,flock {source.strip(chr(39))} /fsx"
        assert wanted in script().replace("'", "")
        assert "mount_one lustre rw," in script(shared_storage="read_write").replace("'", "")
        assert "mount" not in script(shared_storage="none")

    def test_it_says_after_how_long_it_stops(self) -> None:
        assert "--minutes 90 --name dev --region us-west-2" in script(idle_minutes=90)

    def test_names_of_new_file_systems_are_put_in_at_the_deployment(
        self, plain: Synthesized
    ) -> None:
        (hook,) = only(template(plain), f"{INSTANCE}LifecycleConfig")["OnStart"]
        assert "Fn::GetStackOutput" in json.dumps(hook["Content"]["Fn::Base64"])


def test_findings_of_cdk_nag_are_fixed_or_waived(plain: Synthesized, full: Synthesized) -> None:
    assert review(plain.app) == ()
    assert review(full.app) == ()


def test_cfn_lint_finds_nothing(plain: Synthesized, tmp_path: Path) -> None:
    file = tmp_path / "notebook.json"
    file.write_text(json.dumps(template(plain)))
    assert lint([str(file)], "us-west-2") == []
