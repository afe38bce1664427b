"""What calls need: the actions, the resources, and the circumstances."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from embedded_aws.calls import Signature, call_of, signature_of
from embedded_aws.enforcement.needs import needs_of
from tests.pure.embedded_aws.enforcement_requests import (
    ACCOUNT,
    REGION,
    PlainNames,
    call,
    environ_of,
    environ_of_request,
)

HERE = f"{REGION}:{ACCOUNT}"
NAMES: Any = PlainNames()
LOG_GROUP = f"arn:aws:logs:{HERE}:log-group:/aws/sagemaker/Clusters/dev/x"
TOPIC = f"arn:aws:sns:{HERE}:events"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/nodes"
TARGET = "sagemaker-cluster:abcdefghij12_controller-i-0123456789abcdef0"
PART = {"Bucket": "data", "Key": "a", "UploadId": "u"}
GROUP = {"logGroupName": "/aws/sagemaker/Clusters/dev/x"}
STREAM = {**GROUP, "logStreamName": "s"}

CALLS: list[tuple[str, str, dict[str, Any], list[tuple[str, str]]]] = [
    ("s3", "list_buckets", {}, [("s3:ListAllMyBuckets", "*")]),
    ("s3", "head_bucket", {"Bucket": "data"}, [("s3:ListBucket", "arn:aws:s3:::data")]),
    ("s3", "list_objects", {"Bucket": "data"}, [("s3:ListBucket", "arn:aws:s3:::data")]),
    ("s3", "list_objects_v2", {"Bucket": "data"}, [("s3:ListBucket", "arn:aws:s3:::data")]),
    (
        "s3",
        "list_object_versions",
        {"Bucket": "data"},
        [("s3:ListBucketVersions", "arn:aws:s3:::data")],
    ),
    (
        "s3",
        "get_bucket_encryption",
        {"Bucket": "data"},
        [("s3:GetEncryptionConfiguration", "arn:aws:s3:::data")],
    ),
    (
        "s3",
        "get_bucket_policy",
        {"Bucket": "data"},
        [("s3:GetBucketPolicy", "arn:aws:s3:::data")],
    ),
    ("s3", "get_object", {"Bucket": "data", "Key": "a b/c+d"}, [("s3:GetObject", "data/a b/c+d")]),
    ("s3", "head_object", {"Bucket": "data", "Key": "a"}, [("s3:GetObject", "data/a")]),
    (
        "s3",
        "get_object",
        {"Bucket": "data", "Key": "a", "VersionId": "v"},
        [("s3:GetObjectVersion", "data/a")],
    ),
    (
        "s3",
        "put_object",
        {"Bucket": "data", "Key": "a", "Body": b"1"},
        [("s3:PutObject", "data/a")],
    ),
    ("s3", "create_multipart_upload", {"Bucket": "data", "Key": "a"}, [("s3:PutObject", "data/a")]),
    ("s3", "upload_part", {**PART, "PartNumber": 1, "Body": b"1"}, [("s3:PutObject", "data/a")]),
    ("s3", "complete_multipart_upload", PART, [("s3:PutObject", "data/a")]),
    ("s3", "abort_multipart_upload", PART, [("s3:AbortMultipartUpload", "data/a")]),
    ("s3", "list_parts", PART, [("s3:ListMultipartUploadParts", "data/a")]),
    ("s3", "delete_object", {"Bucket": "data", "Key": "a"}, [("s3:DeleteObject", "data/a")]),
    (
        "s3",
        "delete_objects",
        {"Bucket": "data", "Delete": {"Objects": [{"Key": "a"}, {"Key": "b"}]}},
        [("s3:DeleteObject", "data/a"), ("s3:DeleteObject", "data/b")],
    ),
    (
        "s3",
        "copy_object",
        {"Bucket": "data", "Key": "new", "CopySource": {"Bucket": "old", "Key": "x y"}},
        [("s3:GetObject", "old/x y"), ("s3:PutObject", "data/new")],
    ),
    (
        "secretsmanager",
        "get_secret_value",
        {"SecretId": "db"},
        [("secretsmanager:GetSecretValue", f"secret db in {REGION}")],
    ),
    ("secretsmanager", "list_secrets", {}, [("secretsmanager:ListSecrets", "*")]),
    ("fsx", "describe_file_systems", {}, [("fsx:DescribeFileSystems", "*")]),
    (
        "fsx",
        "describe_file_systems",
        {"FileSystemIds": ["fs-0123456789abcdef0"]},
        [("fsx:DescribeFileSystems", "*")],
    ),
    (
        "fsx",
        "update_file_system",
        {"FileSystemId": "fs-0123456789abcdef0"},
        [("fsx:UpdateFileSystem", f"arn:aws:fsx:{HERE}:file-system/fs-0123456789abcdef0")],
    ),
    ("logs", "create_log_group", GROUP, [("logs:CreateLogGroup", f"{LOG_GROUP}:log-stream:")]),
    ("logs", "create_log_stream", STREAM, [("logs:CreateLogStream", f"{LOG_GROUP}:log-stream:s")]),
    (
        "logs",
        "put_log_events",
        {**STREAM, "logEvents": [{"timestamp": 1, "message": "m"}]},
        [("logs:PutLogEvents", f"{LOG_GROUP}:log-stream:s")],
    ),
    (
        "logs",
        "describe_log_groups",
        {},
        [("logs:DescribeLogGroups", f"arn:aws:logs:{HERE}:log-group::log-stream:")],
    ),
    ("sns", "publish", {"TopicArn": TOPIC, "Message": "m"}, [("sns:Publish", TOPIC)]),
    ("kms", "decrypt", {"KeyId": "k", "CiphertextBlob": b"1"}, [("kms:Decrypt", "key k in")]),
    ("sts", "get_caller_identity", {}, []),
    ("sts", "assume_role", {"RoleArn": ROLE, "RoleSessionName": "me"}, [("sts:AssumeRole", ROLE)]),
    (
        "ssm",
        "get_parameter",
        {"Name": "/slurmpod/dev/x"},
        [("ssm:GetParameter", f"arn:aws:ssm:{HERE}:parameter/slurmpod/dev/x")],
    ),
    (
        "ssm",
        "get_parameters",
        {"Names": ["/a", "/b"]},
        [
            ("ssm:GetParameters", f"arn:aws:ssm:{HERE}:parameter/a"),
            ("ssm:GetParameters", f"arn:aws:ssm:{HERE}:parameter/b"),
        ],
    ),
    (
        "ssm",
        "start_session",
        {"Target": TARGET},
        [
            ("ssm:StartSession", f"arn:aws:sagemaker:{HERE}:cluster/abcdefghij12"),
            ("ssm:StartSession", f"arn:aws:ssm:{HERE}:document/SSM-SessionManagerRunShell"),
        ],
    ),
    (
        "ssm",
        "start_session",
        {"Target": TARGET, "DocumentName": "AWS-StartNonInteractiveCommand"},
        [
            ("ssm:StartSession", f"arn:aws:sagemaker:{HERE}:cluster/abcdefghij12"),
            ("ssm:StartSession", f"arn:aws:ssm:{REGION}::document/AWS-StartNonInteractiveCommand"),
        ],
    ),
    (
        "ssm",
        "start_session",
        {"Target": "i-0123456789abcdef0", "DocumentName": "own"},
        [
            ("ssm:StartSession", f"arn:aws:ec2:{HERE}:instance/i-0123456789abcdef0"),
            ("ssm:StartSession", f"arn:aws:ssm:{HERE}:document/own"),
        ],
    ),
    (
        "ssm",
        "terminate_session",
        {"SessionId": "me-1"},
        [("ssm:TerminateSession", f"arn:aws:ssm:{HERE}:session/me-1")],
    ),
    (
        "sagemaker",
        "describe_cluster",
        {"ClusterName": "dev"},
        [("sagemaker:DescribeCluster", f"cluster dev in {REGION}")],
    ),
    (
        "sagemaker",
        "update_cluster",
        {
            "ClusterName": "dev",
            "InstanceGroups": [
                {
                    "InstanceGroupName": "g",
                    "InstanceType": "ml.m5.large",
                    "InstanceCount": 1,
                    "ExecutionRole": ROLE,
                }
            ],
        },
        [("sagemaker:UpdateCluster", f"cluster dev in {REGION}"), ("iam:PassRole", ROLE)],
    ),
    ("sagemaker", "list_clusters", {}, [("sagemaker:ListClusters", "*")]),
    (
        "cloudwatch",
        "put_metric_data",
        {"Namespace": "n", "MetricData": [{"MetricName": "m", "Value": 1}]},
        [("cloudwatch:PutMetricData", "*")],
    ),
    (
        "amp",
        "describe_workspace",
        {"workspaceId": "ws-1"},
        [("aps:DescribeWorkspace", f"arn:aws:aps:{HERE}:workspace/ws-1")],
    ),
    ("ecr", "get_authorization_token", {}, [("ecr:GetAuthorizationToken", "*")]),
    (
        "ecr",
        "batch_get_image",
        {"repositoryName": "team/torch", "imageIds": [{"imageTag": "1"}]},
        [("ecr:BatchGetImage", f"arn:aws:ecr:{HERE}:repository/team/torch")],
    ),
    (
        "lambda",
        "invoke",
        {"FunctionName": "f"},
        [("lambda:InvokeFunction", f"function f in {REGION}")],
    ),
    (
        "iam",
        "get_role",
        {"RoleName": "nodes"},
        [("iam:GetRole", f"role nodes in {REGION}")],
    ),
    (
        "ec2",
        "create_network_interface",
        {"SubnetId": "subnet-1", "Groups": ["sg-1", "sg-2"]},
        [
            ("ec2:CreateNetworkInterface", f"arn:aws:ec2:{HERE}:network-interface/*"),
            ("ec2:CreateNetworkInterface", f"arn:aws:ec2:{HERE}:subnet/subnet-1"),
            ("ec2:CreateNetworkInterface", f"arn:aws:ec2:{HERE}:security-group/sg-1"),
            ("ec2:CreateNetworkInterface", f"arn:aws:ec2:{HERE}:security-group/sg-2"),
        ],
    ),
]


@pytest.mark.parametrize(
    ("service", "operation", "given", "expected"),
    [pytest.param(*each, id=f"{each[0]}-{each[1]}-{n}") for n, each in enumerate(CALLS)],
)
def test_a_call_of_the_sdk_needs_these_actions(
    service: str, operation: str, given: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    needs = needs_of(call(service, operation, **given), NAMES)

    assert [need.action for need in needs] == [action for action, _ in expected]
    for need, (_, resource) in zip(needs, expected, strict=True):
        assert resource in need.resource


def test_what_is_decrypted_knows_its_key() -> None:
    key_id = "1" * 36

    (need,) = needs_of(call("kms", "decrypt", CiphertextBlob=key_id.encode() + b"more"), NAMES)

    assert need.resource == f"key {key_id} in {REGION}"


def test_a_bucket_in_the_host_name_is_a_bucket() -> None:
    environ = environ_of("s3", "get_object", Bucket="data", Key="folder/a")
    environ |= {
        "HTTP_HOST": "data.localhost:1",
        "PATH_INFO": "/folder/a",
        "RAW_URI": "/folder/a",
    }
    signature = signature_of(environ)
    assert signature

    (need,) = needs_of(call_of(environ, signature), NAMES)

    assert need.resource == "arn:aws:s3:::data/folder/a"


def test_prometheus_own_api_is_known_by_its_path() -> None:
    url = "http://localhost:1/workspaces/ws-1/api/v1/remote_write"
    environ = environ_of_request("POST", url, {}, b"snappy")
    (need,) = needs_of(call_of(environ, Signature("A", "", REGION, "aps")), NAMES)

    assert (need.action, need.resource) == (
        "aps:RemoteWrite",
        f"arn:aws:aps:{HERE}:workspace/ws-1",
    )


def test_a_call_that_nobody_knows_takes_everything_of_its_service() -> None:
    environ = environ_of_request("POST", "http://localhost:1/what", {}, b"")

    (need,) = needs_of(call_of(environ, Signature("A", "", REGION, "unheard")), NAMES)

    assert (need.action, need.resource) == ("unheard:*", "*")


def test_who_answers_reads_the_body_again() -> None:
    environ = environ_of("sns", "publish", TopicArn=TOPIC, Message="the message")
    signature = signature_of(environ)
    assert signature

    call_of(environ, signature)

    assert b"the+message" in environ["wsgi.input"].read()


@pytest.mark.parametrize(
    ("service", "operation", "given", "expected"),
    [
        ("s3", "list_objects_v2", {"Bucket": "b", "Prefix": "in/"}, {"s3:prefix": "in/"}),
        (
            "cloudwatch",
            "put_metric_data",
            {"Namespace": "n", "MetricData": [{"MetricName": "m", "Value": 1}]},
            {"cloudwatch:namespace": "n"},
        ),
        (
            "kms",
            "generate_data_key",
            {"KeyId": "k", "NumberOfBytes": 64, "EncryptionContext": {"aws:ssm:TargetId": "t"}},
            {
                "kms:EncryptionContext:aws:ssm:TargetId": "t",
                "kms:EncryptionContextKeys": ["aws:ssm:TargetId"],
            },
        ),
        (
            "ssm",
            "terminate_session",
            {"SessionId": "me-1"},
            {"ssm:resourceTag/aws:ssmmessages:session-id": "owner of me-1"},
        ),
        (
            "sns",
            "create_topic",
            {"Name": "t", "Tags": [{"Key": "team", "Value": "ml"}]},
            {"aws:RequestTag/team": "ml", "aws:TagKeys": ["team"]},
        ),
        ("ssm", "start_session", {"Target": TARGET}, {"ssm:SessionDocumentAccessCheck": "true"}),
    ],
)
def test_policies_can_ask_about_the_circumstances(
    service: str, operation: str, given: dict[str, Any], expected: dict[str, Any]
) -> None:
    need = needs_of(call(service, operation, **given), NAMES)[0]

    assert expected.items() <= need.context.items()


def test_a_list_without_prefix_has_none_to_ask_about() -> None:
    (need,) = needs_of(call("s3", "list_objects_v2", Bucket="b"), NAMES)

    assert "s3:prefix" not in need.context


class TestKeys:
    def needs(self, service: str, operation: str, **given: Any) -> list[tuple[str, str]]:
        names: Any = PlainNames()
        rule = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": "own"}
        stored = SimpleNamespace(encryption="aws:kms", kms_key_id="own")
        names.buckets = {
            "data": SimpleNamespace(
                keys={"a": stored},
                encryption={"Rule": {"ApplyServerSideEncryptionByDefault": rule}},
            ),
            "plain": SimpleNamespace(keys={}, encryption=None),
        }
        names.secrets = {
            "db": SimpleNamespace(kms_key_id="own"),
            "usual": SimpleNamespace(kms_key_id="alias/aws/secretsmanager"),
        }
        names.topics = {TOPIC: SimpleNamespace(kms_master_key_id="own")}
        needs = needs_of(call(service, operation, **given), names)
        services = {need.context["kms:ViaService"] for need in needs if "kms" in need.action}
        assert services <= {f"{service}.{REGION}.amazonaws.com"}
        return [(n.action, n.resource.rpartition("/")[2]) for n in needs if "kms:" in n.action]

    def test_reading_an_object_takes_its_key(self) -> None:
        assert self.needs("s3", "get_object", Bucket="data", Key="a") == [("kms:Decrypt", "own")]

    def test_writing_takes_the_key_of_the_bucket_or_the_one_asked_for(self) -> None:
        assert self.needs("s3", "put_object", Bucket="data", Key="b") == [
            ("kms:GenerateDataKey", "own")
        ]
        asked = {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": "other"}
        assert self.needs("s3", "put_object", Bucket="plain", Key="b", **asked) == [
            ("kms:GenerateDataKey", "other")
        ]
        assert self.needs("s3", "put_object", Bucket="plain", Key="b") == []

    def test_a_secret_takes_its_key_unless_that_is_the_usual_one(self) -> None:
        assert self.needs("secretsmanager", "get_secret_value", SecretId="db") == [
            ("kms:Decrypt", "own")
        ]
        assert self.needs("secretsmanager", "get_secret_value", SecretId="usual") == []

    def test_an_encrypted_topic_takes_its_key(self) -> None:
        assert self.needs("sns", "publish", TopicArn=TOPIC, Message="m") == [
            ("kms:Decrypt", "own"),
            ("kms:GenerateDataKey", "own"),
        ]
