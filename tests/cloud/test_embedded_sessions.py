"""Ways in: an environment with sessions that is deployed, and who opens which.

IAM decides with the policies that were deployed. A session is open when StartSession has answered
and KMS has given the client a data key for the node, which the agent on that node can decrypt.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.exceptions import ClientError

from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.isolation import isolated_environment
from embedded_aws.server import EmbeddedAws
from slurmpod.folders import node_executable
from slurmpod.operations.deploy.cdk import CDK
from slurmpod.rehearsal.bootstrap import bootstrap
from tests.cloud.assemblies import deploy
from tests.cloud.embedded_stacks import Outcome, Stacks
from tests.golden_files import ROOT

ACCOUNT, REGION = "123456789012", "us-west-2"
BIN = Path(sys.executable).parent
DOCUMENT = "slurmpod-lab-session"
LOG_GROUP = "/slurmpod/lab/sessions"
TEXT = """\
name: lab
account: "123456789012"
region: us-west-2
network: {zone: usw2-az2}
storage: {lustre: null}
cluster:
  groups:
    - {name: controller, role: controller, instance_type: ml.m5.large}
    - {name: login, role: login, instance_type: ml.m5.large}
    - {name: workers, role: worker, instance_type: ml.m5.xlarge, partition: cpu}
access:
  sessions: {record: cloudwatch, retention_days: 90, idle_timeout_minutes: 15}
"""


def context_of(session: str, target: str) -> dict[str, str]:
    return {"aws:ssm:SessionId": session, "aws:ssm:TargetId": target}


@dataclass
class Person:
    """Somebody with credentials of their own."""

    lab: Lab
    credentials: dict[str, str]

    def client(self, service: str) -> Any:
        session = boto3.session.Session(region_name=REGION, **self.credentials)  # type: ignore[arg-type]
        return session.client(service, endpoint_url=self.lab.aws.endpoint)  # type: ignore[call-overload]

    def open_session(self, group: str, document: str | None = DOCUMENT) -> str:
        """Do what the client and the agent of Session Manager do; return the session's id."""
        target = self.lab.targets[group]
        session: str = self.begin_session(group, document)["SessionId"]
        data_key = self.data_key(session, target)
        assert self.lab.node_reads(data_key, session, target) == data_key["Plaintext"]
        return session

    def begin_session(self, group: str, document: str | None = DOCUMENT) -> dict[str, str]:
        """Return what StartSession answers."""
        named = {"DocumentName": document} if document else {}
        target = self.lab.targets[group]
        begun: dict[str, str] = self.client("ssm").start_session(Target=target, **named)
        return begun

    def data_key(self, session: str, target: str) -> dict[str, Any]:
        """Do the client's part of the handshake."""
        made: dict[str, Any] = self.client("kms").generate_data_key(
            KeyId=self.lab.key_arn, NumberOfBytes=64, EncryptionContext=context_of(session, target)
        )
        return made

    def connect(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `slurmpod connect`."""
        variables = {name.upper(): value for name, value in self.credentials.items()}
        return subprocess.run(
            [BIN / "slurmpod", "connect", self.lab.file, *arguments],
            env={**self.lab.environment(), **variables},
            capture_output=True,
            text=True,
        )

    def end_session(self, session: str) -> None:
        self.client("ssm").terminate_session(SessionId=session)


@dataclass
class Lab:
    """The environment in its account."""

    aws: EmbeddedAws
    file: Path
    assembly: Path
    printed: dict[str, tuple[int, str]] = field(default_factory=dict)
    deployed: dict[str, Outcome] = field(default_factory=dict)
    """How each stack ended, in the order in which they were made."""

    def cdk(self, step: str, *arguments: str) -> None:
        done = subprocess.run(
            [node_executable(), ROOT / CDK, *arguments, "--ci", "--no-color"],
            cwd=ROOT,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.printed[step] = (done.returncode, done.stdout[-3000:])

    def environment(self) -> dict[str, str]:
        isolated = isolated_environment(os.environ, self.aws.environment())
        return {**isolated, "PATH": f"{BIN}:{isolated['PATH']}"}

    def client(self, service: str) -> Any:
        return self.aws.clients().service(service)

    def channel(self, method: str, begun: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
        """Do what the plugin does with what StartSession answered."""
        connection = HTTPConnection("127.0.0.1", self.aws.port)
        with closing(connection):
            connection.request(method, urlsplit(begun["StreamUrl"]).path, begun["TokenValue"])
            answer = connection.getresponse()
            return answer.status, json.load(answer)

    @property
    def hostnames(self) -> set[str]:
        listed = self.client("sagemaker").list_cluster_nodes(ClusterName="lab")
        return {node["PrivateDnsHostname"] for node in listed["ClusterNodeSummaries"]}

    @property
    def outputs(self) -> dict[str, str]:
        (stack,) = self.client("cloudformation").describe_stacks(StackName="lab-access")["Stacks"]
        return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}

    @property
    def targets(self) -> dict[str, str]:
        """Return how Session Manager names a node of each group."""
        sagemaker = self.client("sagemaker")
        cluster_id = sagemaker.describe_cluster(ClusterName="lab")["ClusterArn"].rpartition("/")[2]
        nodes = sagemaker.list_cluster_nodes(ClusterName="lab")["ClusterNodeSummaries"]
        return {
            node["InstanceGroupName"]: f"sagemaker-cluster:{cluster_id}_"
            f"{node['InstanceGroupName']}-{node['InstanceId']}"
            for node in nodes
        }

    def user(self, name: str, policy_arn: str) -> Person:
        iam = self.client("iam")
        iam.create_user(UserName=name)
        iam.attach_user_policy(UserName=name, PolicyArn=policy_arn)
        key = iam.create_access_key(UserName=name)["AccessKey"]
        return Person(
            self,
            {
                "aws_access_key_id": key["AccessKeyId"],
                "aws_secret_access_key": key["SecretAccessKey"],
            },
        )

    @property
    def inputs(self) -> dict[str, Any]:
        """Return what the document says."""
        content = self.client("ssm").get_document(Name=DOCUMENT)["Content"]
        inputs: dict[str, Any] = json.loads(content)["inputs"]
        return inputs

    @property
    def key_arn(self) -> str:
        return str(self.inputs["kmsKeyId"])

    def node_reads(self, data_key: dict[str, Any], session: str, target: str) -> bytes:
        """Do the part of the agent on the node `target`, with the node's role."""
        sagemaker = self.client("sagemaker")
        described = sagemaker.describe_cluster(ClusterName="lab")
        role = described["InstanceGroups"][0]["ExecutionRole"]
        given = self.client("sts").assume_role(RoleArn=role, RoleSessionName="node")["Credentials"]
        node = Person(
            self,
            {
                "aws_access_key_id": given["AccessKeyId"],
                "aws_secret_access_key": given["SecretAccessKey"],
                "aws_session_token": given["SessionToken"],
            },
        )
        answer = node.client("kms").decrypt(
            CiphertextBlob=data_key["CiphertextBlob"],
            KeyId=self.key_arn,
            EncryptionContext=context_of(session, target),
        )
        plaintext: bytes = answer["Plaintext"]
        return plaintext


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("lab")
    file = folder / "lab.yaml"
    file.write_text(TEXT)
    with EmbeddedAws(account=ACCOUNT, region=REGION) as aws:
        aws.start(CloudOnlyPlatform())
        lab = Lab(aws, file, folder / "assembly")
        lab.cdk("synth", "synth", "-q", "-c", f"env={file}", "--output", str(lab.assembly))
        bootstrap(lab.client("cloudformation"))
        lab.deployed |= deploy(aws.clients, lab.assembly)
        lab.cdk("diff", "diff", "--all", "--app", str(lab.assembly), "--fail")
        yield lab


@pytest.fixture(scope="module")
def user(lab: Lab) -> Person:
    return lab.user("alice", lab.outputs["UsersPolicyArn"])


@pytest.fixture(scope="module")
def administrator(lab: Lab) -> Person:
    return lab.user("grace", lab.outputs["AdministratorsPolicyArn"])


def test_it_is_deployed_and_has_no_difference(lab: Lab) -> None:
    for step in ("synth", "diff"):
        status, printed = lab.printed[step]
        assert status == 0, printed
    assert [each.reasons for each in lab.deployed.values() if each.reasons] == []


def test_the_aws_cli_reads_the_document_back(lab: Lab) -> None:
    done = subprocess.run(
        [BIN / "aws", "ssm", "get-document", "--name", DOCUMENT, "--output", "json"],
        env=lab.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    content = json.loads(json.loads(done.stdout)["Content"])
    described = lab.client("ssm").describe_document(Name=DOCUMENT)["Document"]

    assert described["DocumentType"] == "Session"
    assert content["inputs"] == content["inputs"] | {
        "cloudWatchLogGroupName": LOG_GROUP,
        "cloudWatchEncryptionEnabled": True,
        "idleSessionTimeout": "15",
        "runAsEnabled": True,
        "runAsDefaultUser": "ubuntu",
    }


def test_the_key_of_the_document_encrypts_the_records(lab: Lab) -> None:
    (group,) = lab.client("logs").describe_log_groups(logGroupNamePrefix=LOG_GROUP)["logGroups"]
    assert group["kmsKeyId"] == lab.key_arn
    assert group["retentionInDays"] == 90


def test_a_user_opens_a_session_on_a_login_node(user: Person) -> None:
    session = user.open_session("login")
    assert session.startswith("alice-")


@pytest.mark.parametrize("group", ["controller", "workers"])
def test_a_user_opens_none_elsewhere(user: Person, group: str) -> None:
    with pytest.raises(ClientError, match=r"AccessDenied.*GenerateDataKey"):
        user.open_session(group)


def test_a_data_key_for_another_node_opens_no_session_on_the_controller(
    lab: Lab, user: Person
) -> None:
    data_key = user.data_key("alice-0", lab.targets["login"])
    with pytest.raises(ClientError, match="InvalidCiphertext"):
        lab.node_reads(data_key, "alice-0", lab.targets["controller"])


@pytest.mark.parametrize("document", [None, "SSM-SessionManagerRunShell", "AWS-StartSSHSession"])
def test_nobody_leaves_the_document_out(
    user: Person, administrator: Person, document: str | None
) -> None:
    for person in (user, administrator):
        with pytest.raises(ClientError, match=r"AccessDenied.*StartSession"):
            person.open_session("login", document)


def test_a_user_ends_own_sessions_only(user: Person, administrator: Person) -> None:
    own, foreign = user.open_session("login"), administrator.open_session("login")
    user.end_session(own)
    with pytest.raises(ClientError, match=r"AccessDenied.*TerminateSession"):
        user.end_session(foreign)


def test_who_has_the_token_is_told_what_the_agent_would_know(lab: Lab, user: Person) -> None:
    lab.client("iam").tag_user(
        UserName="alice", Tags=[{"Key": "SSMSessionRunAs", "Value": "alice-on-nodes"}]
    )
    begun = user.begin_session("login")
    status, seen = lab.channel("POST", begun)
    assert status == HTTPStatus.OK
    assert (seen["cluster"], seen["run_as"]) == ("lab", "alice-on-nodes")
    assert seen["inputs"] == lab.inputs
    assert seen["private_dns_hostname"] in lab.hostnames
    assert lab.channel("DELETE", begun)[0] == HTTPStatus.OK
    active = lab.client("ssm").describe_sessions(State="Active")["Sessions"]
    assert begun["SessionId"] not in [each["SessionId"] for each in active]


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_nobody_has_the_channel_of_another(lab: Lab, user: Person, method: str) -> None:
    begun = user.begin_session("login")
    refused: tuple[int, dict[str, Any]] = (HTTPStatus.FORBIDDEN, {})
    assert lab.channel(method, {**begun, "TokenValue": "guessed"}) == refused
    user.end_session(begun["SessionId"])
    assert lab.channel(method, begun) == refused


def test_a_user_finds_nodes_and_changes_none(user: Person) -> None:
    sagemaker = user.client("sagemaker")
    assert len(sagemaker.list_cluster_nodes(ClusterName="lab")["ClusterNodeSummaries"]) == 3
    with pytest.raises(ClientError, match="AccessDenied"):
        sagemaker.delete_cluster(ClusterName="lab")


def test_a_user_is_told_the_way_in(lab: Lab, user: Person) -> None:
    done = user.connect("--print")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [
        *("aws", "ssm", "start-session", "--region", REGION),
        *("--target", lab.targets["login"], "--document-name", DOCUMENT),
    ]


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["logins", "--print"], 2, "lab has no group 'logins'; did you mean 'login'?"),
        (["head", "--print"], 2, "lab has no group 'head'; it has controller, login, workers"),
        (["login", "2", "--print"], 1, "login has no running node 2, it has 1"),
    ],
)
def test_a_way_that_is_none_is_explained(
    user: Person, arguments: list[str], status: int, told: str
) -> None:
    done = user.connect(*arguments)
    assert (done.returncode, done.stdout) == (status, "")
    assert told in done.stderr


@pytest.mark.parametrize("group", ["controller", "login", "workers"])
def test_an_administrator_opens_sessions_everywhere(administrator: Person, group: str) -> None:
    assert administrator.open_session(group)


def test_an_administrator_sees_and_ends_sessions_of_others(
    user: Person, administrator: Person
) -> None:
    session = user.open_session("login")
    active = administrator.client("ssm").describe_sessions(State="Active")["Sessions"]
    administrator.end_session(session)
    ended = administrator.client("ssm").describe_sessions(State="History")["Sessions"]

    assert session in {each["SessionId"] for each in active}
    assert session in {each["SessionId"] for each in ended}


def test_what_was_recorded_outlives_the_stack(
    lab: Lab, user: Person, administrator: Person
) -> None:
    key_arn = lab.key_arn
    for name, output in (("alice", "UsersPolicyArn"), ("grace", "AdministratorsPolicyArn")):
        lab.client("iam").detach_user_policy(UserName=name, PolicyArn=lab.outputs[output])
    stacks = Stacks(lab.aws.clients())
    reasons = [stacks.delete(name).reasons for name in reversed(lab.deployed)]

    assert not any(reasons), reasons
    assert lab.client("logs").describe_log_groups(logGroupNamePrefix=LOG_GROUP)["logGroups"]
    assert lab.client("kms").describe_key(KeyId=key_arn)["KeyMetadata"]["KeyState"] == "Enabled"
    with pytest.raises(ClientError, match="InvalidDocument"):
        lab.client("ssm").get_document(Name=DOCUMENT)
