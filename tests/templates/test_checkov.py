"""checkov over the templates of all environments: what it finds is fixed or accepted."""

from __future__ import annotations

import json
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from tests.templates.checkov_findings import ACCEPTED, Accepted
from tests.templates.synthesis import Synthesized

PROJECT = Path(__file__).parents[2]
INSTALLING_SECONDS = 1200
FAULTY = "faulty.json"

pytestmark = pytest.mark.timeout(INSTALLING_SECONDS)


def checkov(folder: Path) -> list[dict[str, Any]]:
    """Return the failed checks of all templates below a folder."""
    options = ["--framework", "cloudformation", "--output", "json", "--compact", "--quiet"]
    done = subprocess.run(
        [
            PROJECT / "scripts/run_apart.sh",
            "checkov",
            "--directory",
            folder,
            *options,
            "--skip-download",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    report = json.loads(done.stdout)
    assert report["summary"]["parsing_errors"] == 0
    assert report["summary"]["resource_count"] > 0
    return [check for check in report["results"]["failed_checks"] if not about_its_own(check)]


def about_its_own(check: dict[str, Any]) -> bool:
    """Return whether checkov found fault with the file's path, which it adds to the template."""
    return any(key.endswith("/__file__") for key in check["check_result"]["evaluated_keys"])


@pytest.fixture(scope="module")
def findings(
    environments: dict[str, Synthesized], tmp_path_factory: pytest.TempPathFactory
) -> list[dict[str, Any]]:
    """The findings in all templates, and in one more that has a fault: checkov starts slowly."""
    folder = tmp_path_factory.mktemp("templates")
    (folder / FAULTY).write_text(json.dumps(faulty()))
    for name, environment in environments.items():
        for stack, template in environment.templates.items():
            (folder / f"{name}-{stack}.json").write_text(json.dumps(template))
    return checkov(folder)


def faulty() -> dict[str, Any]:
    """Return a template that lets everybody in."""
    rule = {"CidrIp": "0.0.0.0/0", "IpProtocol": "tcp", "FromPort": 22, "ToPort": 22}
    properties = {"GroupDescription": "all", "SecurityGroupIngress": [rule]}
    resource = {"Type": "AWS::EC2::SecurityGroup", "Properties": properties}
    return {"AWSTemplateFormatVersion": "2010-09-09", "Resources": {"Open": resource}}


def is_in_faulty(finding: dict[str, Any]) -> bool:
    return Path(finding["file_path"]).name == FAULTY


def accepts(accepted: Accepted, finding: dict[str, Any]) -> bool:
    return accepted.check == finding["check_id"] and fnmatchcase(
        finding["resource"], accepted.resource
    )


def test_every_finding_is_fixed_or_accepted(findings: list[dict[str, Any]]) -> None:
    open_findings = {
        f"{each['file_path']}: {each['resource']}: {each['check_id']}: {each['check_name']}"
        for each in findings
        if not is_in_faulty(each) and not any(accepts(accepted, each) for accepted in ACCEPTED)
    }
    assert sorted(open_findings) == []


def test_nothing_is_accepted_without_need(findings: list[dict[str, Any]]) -> None:
    found = [finding for finding in findings if not is_in_faulty(finding)]
    idle = [each for each in ACCEPTED if not any(accepts(each, finding) for finding in found)]
    assert idle == []


def test_a_fault_is_found(findings: list[dict[str, Any]]) -> None:
    assert "CKV_AWS_24" in {each["check_id"] for each in findings if is_in_faulty(each)}
