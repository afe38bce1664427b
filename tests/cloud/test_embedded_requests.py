"""Requests that are none: whatever arrives, the answer is one that an AWS service gives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import botocore.parsers
import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.model import OperationModel, ServiceModel

from embedded_aws import isolation
from embedded_aws.clients import Clients, access_key_id
from tests.cloud.embedded_stacks import ACCOUNT, REGION

JSON_SERVICES = ("sagemaker", "fsx", "logs", "ssm", "secretsmanager")
FORM_SERVICES = ("cloudformation", "iam", "ec2")
OPERATIONS = 3
"""How many operations of each service are tried, evenly among all that it has."""

WRONG = {
    "boolean": "perhaps",
    "integer": "many",
    "list": "x",
    "long": "many",
    "map": "x",
    "string": {"a": 1},
    "structure": "x",
}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def parsed(self, operation: OperationModel) -> dict[str, Any]:
        """Return what botocore reads, which raises where an answer has another form."""
        parser = botocore.parsers.create_parser(operation.service_model.resolved_protocol)
        shape: Any = operation.output_shape
        found: dict[str, Any] = parser.parse(
            {"status_code": self.status, "headers": self.headers, "body": self.body},
            shape,
        )
        return found


class Wire:
    """Sends bodies as they are."""

    def __init__(self, clients: Clients) -> None:
        self._endpoint = clients.endpoint

    def send(self, operation: OperationModel, body: bytes) -> Answer:
        service = operation.service_model
        scope = f"{access_key_id(ACCOUNT)}/20260101/{REGION}/{service.signing_name}/aws4_request"
        headers = {"Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, Signature=x"}
        if service.resolved_protocol == "json":
            headers["Content-Type"] = f"application/x-amz-json-{service.metadata['jsonVersion']}"
            headers["X-Amz-Target"] = f"{service.metadata['targetPrefix']}.{operation.name}"
        request = urllib.request.Request(self._endpoint, data=body, headers=headers)  # noqa: S310
        try:
            with urllib.request.urlopen(request) as answer:  # noqa: S310 - the loopback interface
                return Answer(answer.status, dict(answer.headers), answer.read())
        except urllib.error.HTTPError as error:
            return Answer(error.code, dict(error.headers), error.read())


@pytest.fixture(scope="module")
def wire(clients: Clients) -> Wire:
    return Wire(clients)


@cache
def model_of(service: str) -> ServiceModel:
    return botocore.session.get_session().get_service_model(service)


def some_operations(service: str) -> Iterator[OperationModel]:
    model = model_of(service)
    names = [name for name in model.operation_names if model.operation_model(name).input_shape]
    for name in names[:: len(names) // OPERATIONS]:
        yield model.operation_model(name)


def members_of(tried: OperationModel) -> dict[str, Any]:
    assert tried.input_shape is not None
    return dict(tried.input_shape.members)


def json_bodies(tried: OperationModel) -> Iterator[bytes]:
    yield from (b"", b"{", b"[]", b"null", b"\xff\xfe", b"{}")
    members = members_of(tried).items()
    wrong = {name: WRONG.get(member.type_name, {}) for name, member in members}
    yield json.dumps(wrong).encode()
    for name, value in wrong.items():
        yield json.dumps({name: value}).encode()


def form_bodies(tried: OperationModel) -> Iterator[bytes]:
    action = f"Action={tried.name}&Version={tried.service_model.api_version}"
    yield from (action.encode(), f"{action}&%ff=%zz".encode(), b"Action=Nothing&Version=x")
    for name in members_of(tried):
        for value in (f"{name}=abc", f"{name}.member.x=abc", f"{name}.1.A=abc", f"{name}="):
            yield f"{action}&{value}".encode()


@pytest.mark.parametrize("service", [*JSON_SERVICES, *FORM_SERVICES])
def test_whatever_arrives_is_answered_as_by_the_service(service: str, wire: Wire) -> None:
    bodies = json_bodies if service in JSON_SERVICES else form_bodies
    for tried in some_operations(service):
        for body in bodies(tried):
            answer = wire.send(tried, body)
            parsed = answer.parsed(tried)
            told = (tried.name, body, answer.body)

            assert answer.status in (200, 400, 404, 501), told
            assert "html" not in answer.headers["Content-Type"], told
            assert b"InternalFailure" not in answer.body, told
            assert answer.status == 200 or parsed["Error"]["Code"], told
            assert answer.headers["x-amzn-RequestId"], told


@pytest.mark.parametrize(
    ("service", "name", "body", "code", "words"),
    [
        ("sagemaker", "ListClusters", b"{", "SerializationException", "end of the request's JSON"),
        ("sagemaker", "ListClusters", b"[]", "SerializationException", "Start of list"),
        (
            "sagemaker",
            "ListClusters",
            b'{"MaxResults": "many"}',
            "SerializationException",
            "STRING_VALUE can not be converted to Integer",
        ),
        (
            "sagemaker",
            "CreateCluster",
            b'{"ClusterName": "a", "InstanceGroups": [{"InstanceCount": 1, "ExecutionRole": "r"}]}',
            "ValidationException",
            "Value null at 'instanceGroups.1.member.instanceGroupName' failed",
        ),
        ("logs", "GetLogEvents", b"{}", "InvalidParameterException", "null at 'logStreamName'"),
        (
            "cloudformation",
            "DescribeStackResources",
            b"Action=DescribeStackResourceDrifts&StackName=a&MaxResults=many",
            "MalformedInput",
            "could not be read",
        ),
        ("iam", "GetRole", b"Action=GetRole", "ValidationError", "Value null at 'roleName'"),
        ("ec2", "DescribeVpcs", b"Action=Foo", "InvalidAction", "The action Foo is not valid"),
        ("ec2", "CreateSubnet", b"Action=CreateSubnet", "MissingParameter", "parameter VpcId"),
    ],
)
def test_a_malformed_request_is_refused_by_code_and_words(
    service: str, name: str, body: bytes, code: str, words: str, wire: Wire
) -> None:
    tried = model_of(service).operation_model(name)
    answer = wire.send(tried, body)
    error = answer.parsed(tried)["Error"]

    assert answer.status == 400
    assert error["Code"] == code
    assert words in error["Message"]


def test_an_operation_that_nobody_wrote_is_refused_by_its_name(clients: Clients) -> None:
    with pytest.raises(ClientError, match="ListCloudConnectors of ssm") as refused:
        clients.service("ssm").list_cloud_connectors()
    assert refused.value.response["Error"]["Code"] == "UnsupportedOperation"


def test_quotas_are_listed_by_their_services(clients: Clients) -> None:
    quotas = clients.service("service-quotas")
    services = {each["ServiceCode"] for each in quotas.list_services()["Services"]}
    names = {each["QuotaName"] for each in quotas.list_service_quotas(ServiceCode="vpc")["Quotas"]}
    assert services == {"ec2", "fsx", "rds", "sagemaker", "vpc"}
    assert "Interface VPC endpoints per VPC" in names


@pytest.mark.parametrize(
    ("service", "call"),
    [("sagemaker", "list_clusters"), ("s3", "list_buckets"), ("sts", "get_caller_identity")],
)
def test_every_answer_has_an_id_of_its_own(service: str, call: str, clients: Clients) -> None:
    seen = [getattr(clients.service(service), call)()["ResponseMetadata"] for _ in range(2)]

    first, second = (each["RequestId"] for each in seen)
    assert first != second
    assert seen[0]["HTTPHeaders"].get("x-amzn-requestid", first) == first


def test_the_aws_cli_of_version_1_stays_here_for_services_with_addresses_of_their_own(
    clients: Clients,
) -> None:
    variables = isolation.variables(endpoint=clients.endpoint, account=ACCOUNT, region="us-east-1")
    isolated = isolation.isolated_environment(os.environ, {})
    script = [
        *isolation.shell_lines({}, variables),
        "aws sqs create-queue --queue-name here --query QueueUrl --output text",
        "aws rds describe-db-instances --query DBInstances --output text",
    ]
    path = f"{Path(sys.executable).parent}:{isolated['PATH']}"
    done = subprocess.run(
        ["/bin/sh", "-ec", "\n".join(script)],
        env={**isolated, "PATH": path},
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == [f"{clients.endpoint}/{ACCOUNT}/here"]


def test_buckets_are_reached_by_tools_that_put_their_names_into_that_of_the_host(
    clients: Clients,
) -> None:
    config = Config(s3={"addressing_style": "virtual"}, proxies={})
    s3 = boto3.client("s3", endpoint_url=clients.endpoint, config=config)
    where: Any = {"LocationConstraint": REGION}
    s3.create_bucket(Bucket="virtual", CreateBucketConfiguration=where)
    s3.put_object(Bucket="virtual", Key="a/b", Body=b"content")
    asked = urllib.request.Request(  # noqa: S310 - the loopback interface
        f"{clients.endpoint}/a/b",
        headers={
            "Host": f"virtual.s3.{REGION}.amazonaws.com",
            "Authorization": f"AWS4-HMAC-SHA256 Credential={access_key_id(ACCOUNT)}/20260101/"
            f"{REGION}/s3/aws4_request, Signature=x",
        },
    )

    assert s3.get_object(Bucket="virtual", Key="a/b")["Body"].read() == b"content"
    with urllib.request.urlopen(asked) as answer:  # noqa: S310 - the loopback interface
        assert answer.read() == b"content"


def test_events_are_searched_in_streams_with_a_prefix(clients: Clients) -> None:
    logs: Any = clients.logs
    logs.create_log_group(logGroupName="searched")
    now = int(time.time() * 1000)
    for minute, stream in enumerate(("LifecycleConfig/a", "other", "LifecycleConfig/b")):
        logs.create_log_stream(logGroupName="searched", logStreamName=stream)
        event = {"timestamp": now + minute, "message": stream}
        logs.put_log_events(logGroupName="searched", logStreamName=stream, logEvents=[event])

    def found(**asked: object) -> list[str]:
        events = logs.filter_log_events(logGroupName="searched", **asked)["events"]
        return [event["message"] for event in events]

    assert found(logStreamNamePrefix="LifecycleConfig/") == [
        "LifecycleConfig/a",
        "LifecycleConfig/b",
    ]
    assert found(logStreamNamePrefix="nothing") == []
    assert found() == ["LifecycleConfig/a", "other", "LifecycleConfig/b"]
    with pytest.raises(ClientError, match="mutually exclusive"):
        found(logStreamNamePrefix="o", logStreamNames=["other"])
