from __future__ import annotations

import json
import os
import pwd
import subprocess
from functools import cache
from typing import Any

import pytest

from slurmpod.rules.sessions import users_policy_characters
from slurmpod_cdk.nag.review import review
from tests.templates.synthesis import Synthesized, of_type, only, resolved_from, synthesize

TEXT = """\
name: lab
account: "123456789012"
region: us-west-2
network: {zone: usw2-az2}
cluster:
  groups:
    - {name: controller, role: controller, instance_type: ml.m5.large}
    - {name: login, role: login, instance_type: ml.m5.large}
    - {name: workers, role: worker, instance_type: ml.m5.xlarge, count: 2, partition: cpu}
access:
  sessions: {SESSIONS}
"""
KEY = "arn:aws:kms:us-west-2:123456789012:key/12345678-1234-1234-1234-123456789012"
TARGET = "kms:EncryptionContext:aws:ssm:TargetId"
OUTPUTS = {"ClusterId": "<id>", "LogGroup": "<logs>"}
OF_THE_CLUSTER = "sagemaker-cluster:<id>_"


@cache
def lab(sessions: str = "", more: str = "") -> Synthesized:
    return synthesize(resolved_from(TEXT.replace("SESSIONS", sessions) + more))


def policy(example: Synthesized, who: str) -> dict[str, dict[str, Any]]:
    """Return the statements of a managed policy by their ids."""
    (found,) = (
        resource["Properties"]["PolicyDocument"]["Statement"]
        for logical_id, resource in of_type(
            example.templates["access"], "AWS::IAM::ManagedPolicy"
        ).items()
        if logical_id.startswith(who)
    )
    return {statement["Sid"]: plain(statement) for statement in found}


def plain(value: Any) -> Any:
    """Return a value with short words in place of references."""
    if isinstance(value, dict) and "Fn::Join" in value:
        return "".join(plain(part) for part in value["Fn::Join"][1])
    if isinstance(value, dict) and "Fn::GetStackOutput" in value:
        given = value["Fn::GetStackOutput"]
        return OUTPUTS.get(given["OutputName"], f"<{given['StackName']}>")
    if isinstance(value, dict) and "Fn::GetAtt" in value:
        return "<key>"
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def as_list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def inputs(example: Synthesized) -> dict[str, Any]:
    document = only(example.templates["access"], "AWS::SSM::Document")
    content: dict[str, Any] = document["Content"]
    return plain(content["inputs"])  # type: ignore[no-any-return]


def key_policy(example: Synthesized) -> dict[str, dict[str, Any]]:
    key = only(example.templates["access"], "AWS::KMS::Key")
    statements = key["KeyPolicy"]["Statement"]
    return {statement.get("Sid", "root"): plain(statement) for statement in statements}


def test_without_sessions_there_is_no_access_stack() -> None:
    assert "access" not in synthesize(resolved_from(TEXT.partition("access:")[0])).templates


class TestDocument:
    def test_it_is_a_session_document_whose_changes_are_new_versions(self) -> None:
        document = only(lab().templates["access"], "AWS::SSM::Document")
        assert document["Name"] == "slurmpod-lab-session"
        assert document["DocumentType"] == "Session"
        assert document["UpdateMethod"] == "NewVersion"
        assert document["Content"]["schemaVersion"] == "1.0"
        assert document["Content"]["sessionType"] == "Standard_Stream"

    def test_people_work_as_the_user_of_the_environment(self) -> None:
        given = inputs(lab())
        assert given["runAsEnabled"] is True
        assert given["runAsDefaultUser"] == "ubuntu"

    def test_with_tags_nobody_works_under_a_common_name(self) -> None:
        given = inputs(lab('run_as: "${tag}"'))
        assert given["runAsEnabled"] is True
        assert given["runAsDefaultUser"] == ""

    def test_sessions_end(self) -> None:
        assert inputs(lab())["maxSessionDuration"] == ""
        given = inputs(lab("idle_timeout_minutes: 10, max_duration_minutes: 480"))
        assert (given["idleSessionTimeout"], given["maxSessionDuration"]) == ("10", "480")

    def test_every_session_is_encrypted(self) -> None:
        assert inputs(lab("record: none"))["kmsKeyId"] == "<key>"
        assert inputs(lab(f"kms_key_arn: {KEY}"))["kmsKeyId"] == KEY

    def test_records_go_to_one_place_and_only_encrypted(self) -> None:
        logged, stored = inputs(lab()), inputs(lab("record: s3"))
        assert (logged["cloudWatchLogGroupName"], logged["s3BucketName"]) == (
            "/slurmpod/lab/sessions",
            "",
        )
        assert (stored["cloudWatchLogGroupName"], stored["s3BucketName"]) == (
            "",
            "slurmpod-lab-sessions-123456789012-us-west-2",
        )
        assert stored["s3KeyPrefix"] == "sessions"
        for given in (logged, stored):
            assert given["cloudWatchEncryptionEnabled"] is True
            assert given["s3EncryptionEnabled"] is True

    def test_the_shell_begins_at_home_wherever_that_is(self) -> None:
        """The agent starts a bare sh, and takes /home/<user> for everybody's home."""
        profile = inputs(lab())["shellProfile"]["linux"]
        done = subprocess.run(
            ["sh", "-c", f'{profile} -c \'echo "$HOME" "$PWD" "$0"\''],
            env={"PATH": os.environ["PATH"], "HOME": "/home/nobody-has-this"},
            capture_output=True,
            text=True,
        )
        home = pwd.getpwuid(os.getuid()).pw_dir
        assert done.stdout.splitlines()[-1] == f"{home} {home} bash"

    def test_it_is_made_after_the_place_that_it_names(self) -> None:
        resources = lab().templates["access"]["Resources"]
        (document,) = (r for r in resources.values() if r["Type"] == "AWS::SSM::Document")
        (group,) = of_type(lab().templates["access"], "AWS::Logs::LogGroup")
        assert group in document["DependsOn"]


class TestRecords:
    def test_the_log_group_is_encrypted_and_kept_for_a_while(self) -> None:
        example = lab("retention_days: 90")
        group = only(example.templates["access"], "AWS::Logs::LogGroup")
        assert plain(group["KmsKeyId"]) == "<key>"
        assert group["RetentionInDays"] == 90
        assert group["LogGroupName"] == "/slurmpod/lab/sessions"
        assert not of_type(example.templates["access"], "AWS::S3::Bucket")

    def test_the_bucket_is_private_and_encrypted_and_forgets(self) -> None:
        template = lab("record: s3, retention_days: 90").templates["access"]
        bucket = only(template, "AWS::S3::Bucket")
        (encryption,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        (rule,) = bucket["LifecycleConfiguration"]["Rules"]
        (statement,) = only(template, "AWS::S3::BucketPolicy")["PolicyDocument"]["Statement"]
        assert all(bucket["PublicAccessBlockConfiguration"].values())
        assert plain(encryption["ServerSideEncryptionByDefault"]["KMSMasterKeyID"]) == "<key>"
        assert rule["ExpirationInDays"] == 90
        assert statement["Effect"] == "Deny"
        assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
        assert not of_type(template, "AWS::Logs::LogGroup")

    @pytest.mark.parametrize("record", ["cloudwatch", "s3"])
    def test_records_and_their_key_outlive_the_stack(self, record: str) -> None:
        resources = lab(f"record: {record}").templates["access"]["Resources"].values()
        kept = ("AWS::KMS::Key", "AWS::Logs::LogGroup", "AWS::S3::Bucket")
        stateful = [resource for resource in resources if resource["Type"] in kept]
        assert len(stateful) == 2
        for resource in stateful:
            assert resource["DeletionPolicy"] == "RetainExceptOnCreate"
            assert resource["UpdateReplacePolicy"] == "Retain"

    def test_without_records_there_is_no_place_for_them(self) -> None:
        template = lab("record: none").templates["access"]
        assert not of_type(template, "AWS::Logs::LogGroup")
        assert not of_type(template, "AWS::S3::Bucket")
        assert "SessionRecords" not in template["Outputs"]

    def test_in_a_closed_network_nodes_reach_the_bucket_to_write(self) -> None:
        text = TEXT.replace("zone: usw2-az2", "zone: usw2-az2, closed: true")
        example = synthesize(resolved_from(text.replace("SESSIONS", "record: s3")))
        (policy,) = (
            resource["Properties"]["PolicyDocument"]
            for resource in of_type(example.templates["network"], "AWS::EC2::VPCEndpoint").values()
            if resource["Properties"]["VpcEndpointType"] == "Gateway"
        )
        by_id = {statement["Sid"]: statement for statement in policy["Statement"]}
        statement = by_id["RecordSessions"]
        assert "s3:PutObject" in statement["Action"]
        assert "s3:GetObject" not in statement["Action"]
        assert (
            "arn:aws:s3:::slurmpod-lab-sessions-123456789012-us-west-2/*" in (statement["Resource"])
        )


class TestKey:
    def test_it_rotates(self) -> None:
        assert only(lab().templates["access"], "AWS::KMS::Key")["EnableKeyRotation"] is True

    def test_the_nodes_read_what_opens_sessions_on_this_cluster_alone(self) -> None:
        statement = key_policy(lab())["NodesJoinSessions"]
        assert statement["Principal"] == {"AWS": "<lab-identity>"}
        assert statement["Action"] == "kms:Decrypt"
        assert statement["Condition"] == {"StringLike": {TARGET: f"{OF_THE_CLUSTER}*"}}

    def test_logs_encrypt_one_group(self) -> None:
        condition = key_policy(lab())["LogsEncryptRecords"]["Condition"]
        arn = "arn:aws:logs:us-west-2:123456789012:log-group:/slurmpod/lab/sessions"
        assert condition == {"ArnLike": {"kms:EncryptionContext:aws:logs:arn": [arn]}}

    def test_nodes_write_encrypted_objects_through_s3_alone(self) -> None:
        statement = key_policy(lab("record: s3"))["NodesRecordSessions"]
        assert statement["Condition"] == {
            "StringEquals": {"kms:ViaService": "s3.us-west-2.amazonaws.com"}
        }

    @pytest.mark.parametrize("record", ["s3", "none"])
    def test_records_of_before_are_read_wherever_new_ones_go(self, record: str) -> None:
        statement = key_policy(lab(f"record: {record}"))["LogsEncryptRecords"]
        assert statement == key_policy(lab("record: cloudwatch"))["LogsEncryptRecords"]
        group = only(lab().templates["access"], "AWS::Logs::LogGroup")["LogGroupName"]
        (arn,) = statement["Condition"]["ArnLike"]["kms:EncryptionContext:aws:logs:arn"]
        assert arn.partition(":log-group:")[2] == group

    @pytest.mark.parametrize("record", ["cloudwatch", "s3", "none"])
    def test_in_a_closed_network_nodes_reach_the_key(self, record: str) -> None:
        text = TEXT.replace("zone: usw2-az2", "zone: usw2-az2, closed: true")
        text = text.replace("count: 2", f"count: 2, volume_gib: 100, volume_kms_key_arn: {KEY}")
        text = text.replace("cluster:\n", "cluster:\n  provisioning: continuous\n")
        text += "lifecycle: {mode: extended}\n"
        example = synthesize(resolved_from(text.replace("SESSIONS", f"record: {record}")))
        (passing,) = (
            resource["Properties"]["PolicyDocument"]["Statement"][0]["Action"]
            for resource in of_type(example.templates["network"], "AWS::EC2::VPCEndpoint").values()
            if str(resource["Properties"]["ServiceName"]).endswith(".kms']]}")
        )
        let_in = {
            action
            for statement in key_policy(example).values()
            if statement["Principal"] == {"AWS": "<lab-identity>"}
            for action in as_list(statement["Action"])
        }
        assert "kms:Decrypt" in let_in
        assert let_in <= set(passing)

    def test_a_given_key_is_used_in_place_of_a_new_one(self) -> None:
        template = lab(f"kms_key_arn: {KEY}").templates["access"]
        assert not of_type(template, "AWS::KMS::Key")
        assert only(template, "AWS::Logs::LogGroup")["KmsKeyId"] == KEY


class TestUsers:
    def test_they_start_sessions_on_the_cluster_with_the_document_and_no_other(self) -> None:
        statement = policy(lab(), "Users")["OpenSessions"]
        assert statement["Action"] == "ssm:StartSession"
        assert sorted(statement["Resource"]) == [
            "<lab-cluster>",
            "arn:aws:ssm:us-west-2:123456789012:document/slurmpod-lab-session",
        ]
        assert statement["Condition"] == {
            "BoolIfExists": {"ssm:SessionDocumentAccessCheck": "true"}
        }

    def test_they_encrypt_sessions_with_login_nodes_only(self) -> None:
        statement = policy(lab(), "Users")["EncryptSessionsWithTheseNodes"]
        assert statement["Resource"] == "<key>"
        assert statement["Condition"] == {
            "StringLike": {TARGET: [f"{OF_THE_CLUSTER}login-i-{'?' * 17}"]}
        }

    def test_the_environment_says_where_else(self) -> None:
        example = lab("", "  user_groups: [login, workers]\n")
        statement = policy(example, "Users")["EncryptSessionsWithTheseNodes"]
        assert statement["Condition"]["StringLike"][TARGET] == [
            f"{OF_THE_CLUSTER}login-i-{'?' * 17}",
            f"{OF_THE_CLUSTER}workers-i-{'?' * 17}",
        ]

    def test_they_end_and_resume_their_own_sessions_only(self) -> None:
        statement = policy(lab(), "Users")["OwnSessions"]
        assert statement["Action"] == ["ssm:ResumeSession", "ssm:TerminateSession"]
        assert statement["Condition"] == {
            "StringEquals": {"ssm:resourceTag/aws:ssmmessages:session-id": "${aws:userid}"}
        }

    def test_they_change_nothing(self) -> None:
        actions = json.dumps([s["Action"] for s in policy(lab(), "Users").values()])
        for verb in ("Update", "Delete", "Reboot", "Replace", "Put", "Create"):
            assert verb not in actions

    def test_without_a_group_for_them_they_have_no_policy(self) -> None:
        login = "    - {name: login, role: login, instance_type: ml.m5.large}\n"
        text = TEXT.replace(login, "")
        example = synthesize(resolved_from(text.replace("SESSIONS", "")))
        policies = of_type(example.templates["access"], "AWS::IAM::ManagedPolicy")
        assert [name.startswith("Administrators") for name in policies] == [True]
        assert review(example.app) == ()

    def test_their_policy_is_no_longer_than_the_rule_counts(self) -> None:
        text = TEXT.replace("name: lab", f"name: {'l' * 63}").replace("SESSIONS", "")
        groups = "".join(
            f"    - {{name: w{n}, role: worker, instance_type: ml.m5.xlarge, partition: p}}\n"
            for n in range(40)
        )
        listed = ", ".join(f"w{n}" for n in range(40))
        text = text.replace("access:\n", f"{groups}access:\n  user_groups: [{listed}]\n")
        example = synthesize(resolved_from(text))
        document = json.dumps(list(policy(example, "Users").values()), separators=(",", ":"))
        arns = document.replace("<key>", KEY).replace(f"<{'l' * 63}-cluster>", "a" * 60)
        length = len('{"Version":"2012-10-17","Statement":}') + len(arns.replace("<id>", "0" * 12))
        assert length < users_policy_characters(example.resolved) < length + 500


class TestAdministrators:
    def test_they_encrypt_sessions_with_every_node_of_the_cluster(self) -> None:
        statement = policy(lab(), "Administrators")["EncryptSessionsWithTheseNodes"]
        assert statement["Condition"] == {"StringLike": {TARGET: [f"{OF_THE_CLUSTER}*"]}}

    def test_they_manage_the_nodes_of_this_cluster(self) -> None:
        statement = policy(lab(), "Administrators")["ManageNodes"]
        assert statement["Resource"] == "<lab-cluster>"
        assert {
            "sagemaker:BatchDeleteClusterNodes",
            "sagemaker:BatchRebootClusterNodes",
            "sagemaker:BatchReplaceClusterNodes",
            "sagemaker:StartClusterHealthCheck",
            "sagemaker:UpdateClusterSoftware",
        } <= set(statement["Action"])

    def test_they_end_sessions_on_this_cluster_only(self) -> None:
        statement = policy(lab(), "Administrators")["EndSessionsOnTheCluster"]
        assert statement["Condition"] == {
            "StringLike": {"ssm:resourceTag/aws:ssmmessages:target-id": f"{OF_THE_CLUSTER}*"}
        }

    def test_they_read_what_nodes_wrote_and_people_typed(self) -> None:
        logs = "arn:aws:logs:us-west-2:123456789012:log-group:"
        assert sorted(policy(lab(), "Administrators")["ReadLogs"]["Resource"]) == [
            f"{logs}/slurmpod/lab/sessions:*",
            f"{logs}<logs>:*",
        ]
        stored = policy(lab("record: s3"), "Administrators")
        assert stored["ReadRecords"]["Resource"].endswith("-us-west-2/sessions/*")
        assert stored["DecryptRecords"]["Resource"] == "<key>"


def test_names_and_arns_of_the_policies_are_put_out() -> None:
    outputs = lab().templates["access"]["Outputs"]
    assert outputs["UsersPolicy"]["Value"] == "lab-cluster-users-us-west-2"
    assert outputs["AdministratorsPolicy"]["Value"] == "lab-cluster-administrators-us-west-2"
    assert {"UsersPolicyArn", "AdministratorsPolicyArn", "SessionDocument"} <= outputs.keys()


@pytest.mark.parametrize(
    "sessions", ["record: cloudwatch", "record: s3", "record: none", f"kms_key_arn: {KEY}"]
)
def test_nothing_stands_against_a_deployment(sessions: str) -> None:
    assert [finding for finding in review(lab(sessions).app) if "-access" in finding] == []
