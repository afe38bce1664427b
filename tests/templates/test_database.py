from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from slurmpod_cdk.nag.review import review
from tests.sound_environment import SOUND
from tests.templates.linting import lint
from tests.templates.synthesis import (
    Synthesized,
    Template,
    of_type,
    only,
    resolved_from,
    synthesize,
)

SERVER = "AWS::RDS::DBInstance"
PARAMETERS = "AWS::RDS::DBParameterGroup"
KEY = "arn:aws:kms:us-west-2:123456789012:key/12345678-1234-1234-1234-123456789012"
TWO_ZONES = "network:\n  other_zones: [{zone: us-west-2a}]\n"
RECORDS = ("error", "slowquery")


def made(rds: str = "{}", more: str = "") -> Synthesized:
    text = SOUND.replace("network:\n", TWO_ZONES, 1)
    return synthesize(resolved_from(f"{text}slurm: {{rds: {rds}}}\n{more}"))


def template(rds: str = "{}", more: str = "") -> Template:
    return made(rds, more).templates["database"]


@pytest.fixture(scope="module")
def plain() -> Template:
    return template()


@pytest.fixture(scope="module")
def full() -> Template:
    return template(
        "{instance_class: db.m7g.large, engine_version: '11.4', storage_gib: 100, "
        "max_storage_gib: 400, multi_az: true, backup_retention_days: 35, "
        "backup_window: '03:00-04:00', maintenance_window: 'sun:05:00-sun:06:00', "
        f"kms_key_arn: '{KEY}', on_delete: snapshot}}"
    )


def test_an_environment_without_it_has_no_database_stack() -> None:
    assert "database" not in synthesize(resolved_from(SOUND)).templates


def test_the_server_is_private_encrypted_and_backed_up(plain: Template) -> None:
    expected = {
        "PubliclyAccessible": False,
        "StorageEncrypted": True,
        "BackupRetentionPeriod": 14,
        "DeletionProtection": True,
        "AutoMinorVersionUpgrade": True,
        "CopyTagsToSnapshot": True,
        "DeleteAutomatedBackups": False,
        "AllocatedStorage": "50",
        "MaxAllocatedStorage": 100,
        "EnableCloudwatchLogsExports": list(RECORDS),
    }
    assert expected.items() <= only(plain, SERVER).items()


def test_rds_makes_the_password(plain: Template) -> None:
    server = only(plain, SERVER)
    assert server["ManageMasterUserPassword"] is True
    assert "MasterUserPassword" not in server
    assert "AWS::SecretsManager::Secret" not in str(plain)


def test_the_users_choices_are_all_there(full: Template) -> None:
    expected = {
        "DBInstanceClass": "db.m7g.large",
        "EngineVersion": "11.4",
        "AllocatedStorage": "100",
        "MaxAllocatedStorage": 400,
        "MultiAZ": True,
        "BackupRetentionPeriod": 35,
        "PreferredBackupWindow": "03:00-04:00",
        "PreferredMaintenanceWindow": "sun:05:00-sun:06:00",
        "KmsKeyId": KEY,
        "MasterUserSecret": {"KmsKeyId": KEY},
        "DeletionProtection": False,
    }
    assert expected.items() <= only(full, SERVER).items()
    logs = of_type(full, "AWS::Logs::LogGroup").values()
    assert [log["Properties"]["KmsKeyId"] for log in logs] == [KEY, KEY]
    assert only(full, PARAMETERS)["Family"] == "mariadb11.4"


@pytest.mark.parametrize(
    ("on_delete", "server", "companions", "protected"),
    [
        ("retain", ("RetainExceptOnCreate", "Retain"), "RetainExceptOnCreate", True),
        ("snapshot", ("Snapshot", "Snapshot"), "Delete", False),
        ("delete", ("Delete", "Delete"), "Delete", False),
    ],
)
def test_what_is_kept_keeps_what_it_stands_on(
    on_delete: str, server: tuple[str, str], companions: str, protected: bool
) -> None:
    resources: Mapping[str, Any] = template(f"{{on_delete: {on_delete}}}")["Resources"]
    (found,) = (each for each in resources.values() if each["Type"] == SERVER)
    others = [each for each in resources.values() if each["Type"] != SERVER]
    assert (found["DeletionPolicy"], found["UpdateReplacePolicy"]) == server
    assert {each["DeletionPolicy"] for each in others} == {companions}
    assert found["Properties"]["DeletionProtection"] is protected
    assert found["Properties"]["DeleteAutomatedBackups"] is (on_delete == "delete")


def test_parameters_of_an_earlier_version_are_not_kept(plain: Template) -> None:
    (parameters,) = of_type(plain, PARAMETERS).values()
    assert parameters["UpdateReplacePolicy"] == "Delete"


def test_nobody_but_the_nodes_reaches_it(plain: Template) -> None:
    group = only(plain, "AWS::EC2::SecurityGroup")
    (rule,) = group["SecurityGroupIngress"]
    assert (rule["FromPort"], rule["ToPort"], rule["IpProtocol"]) == (3306, 3306, "tcp")
    assert "CidrIp" not in rule
    assert "PublishOutput" in str(rule["SourceSecurityGroupId"])
    assert [egress["CidrIp"] for egress in group["SecurityGroupEgress"]] == ["255.255.255.255/32"]


def test_it_may_go_to_every_private_subnet(plain: Template) -> None:
    assert len(only(plain, "AWS::RDS::DBSubnetGroup")["SubnetIds"]) == 2


@pytest.mark.parametrize(("mode", "value"), [("customer", "1"), ("extended", "0")])
def test_encryption_is_required_where_slurmpod_configures_the_client(mode: str, value: str) -> None:
    lifecycle = f"lifecycle: {{mode: {mode}}}\n"
    parameters = only(template(more=lifecycle), PARAMETERS)["Parameters"]
    assert parameters["require_secure_transport"] == value
    assert parameters["innodb_lock_wait_timeout"] == "900"


def test_its_logs_do_not_stay_for_ever(plain: Template) -> None:
    groups = [group["Properties"] for group in of_type(plain, "AWS::Logs::LogGroup").values()]
    identifier = only(plain, SERVER)["DBInstanceIdentifier"]
    assert {group["LogGroupName"] for group in groups} == {
        f"/aws/rds/instance/{identifier}/{log}" for log in RECORDS
    }
    assert {group["RetentionInDays"] for group in groups} == {90}


def test_the_way_to_it_is_an_output(plain: Template) -> None:
    assert {
        "DatabaseIdentifier",
        "DatabaseEndpoint",
        "DatabasePort",
        "DatabaseSecretArn",
    } <= plain["Outputs"].keys()


def test_scripts_and_request_get_endpoint_and_secret() -> None:
    customer = made()
    assert "EndpointAddress" in str(customer.templates["lifecycle"])
    assert "MasterUserSecretSecretArn" in str(customer.templates["lifecycle"])
    assert "AccountingDatabase" not in str(customer.templates["cluster"])

    extended = made(more="lifecycle: {mode: extended}\n")
    request = only(extended.templates["cluster"], "AWS::SageMaker::Cluster")
    database = request["Orchestrator"]["Slurm"]["AccountingDatabase"]
    assert (database["Port"], database["Name"]) == (3306, "slurm_acct_db")
    assert "EndpointAddress" in str(database["Endpoint"])
    assert "MasterUserSecretSecretArn" in str(database["SecretArn"])


def test_several_controllers_are_told_where_it_is() -> None:
    text = SOUND.replace("network:\n", TWO_ZONES, 1)
    more = "slurm: {rds: {}, multi_head: {}}\n"
    environment = resolved_from(f"{text}{more}")
    rendered = synthesize(environment).bundle.files["provisioning_parameters.json"].decode()
    assert "@DATABASE:ENDPOINT@" in rendered
    assert '"slurm_database_user": "admin"' in rendered


def test_cloudformation_accepts_it(full: Template, tmp_path: Path) -> None:
    (tmp_path / "database.json").write_text(json.dumps(full))
    assert lint([str(tmp_path / "database.json")], "us-west-2") == []


@pytest.mark.parametrize(
    "rds", ["{}", "{multi_az: true}", "{on_delete: snapshot}", "{on_delete: delete}"]
)
def test_what_reviews_find_is_waived_and_no_waiver_is_left_over(rds: str) -> None:
    assert [found for found in review(made(rds).app) if "database" in found] == []
