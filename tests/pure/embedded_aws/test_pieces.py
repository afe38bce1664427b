"""The small pure parts of the embedded AWS."""

from __future__ import annotations

import io
import os
import zipfile

import pytest

from embedded_aws.clients import access_key_id
from embedded_aws.fsx.api import file_system_shape
from embedded_aws.fsx.file_systems import FileSystem
from embedded_aws.isolation import (
    isolated_environment,
    process_environment,
    variables,
)
from embedded_aws.resources.cdk import archive_files
from embedded_aws.resources.provider import ProviderError, ResourceRequest
from embedded_aws.resources.registry import PROVIDERS
from embedded_aws.resources.s3 import (
    encryption_configuration,
    lifecycle_configuration,
)
from embedded_aws.resources.schemas import changed_properties
from tests.pure.embedded_aws.cloud_fakes import NoClients

ENDPOINT = "http://localhost:4000"


def zipped(**files: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/"), text)
    return content.getvalue()


def test_fills_in_deploy_time_values() -> None:
    archive = zipped(settings="name=<<m:0>>", dir__other="<<m:0>><<m:1>>")
    markers = {"<<m:0>>": "fs-1", "<<m:1>>": 'a"b'}

    assert dict(archive_files(archive, markers, json_escape=False)) == {
        "settings": b"name=fs-1",
        "dir/other": b'fs-1a"b',
    }


def test_deploy_time_values_in_json_are_escaped_when_asked() -> None:
    archive = zipped(settings='{"text": "<<m:0>>", "number": <<m:1>>}')
    files = dict(archive_files(archive, {"<<m:0>>": 'a"b\n', "<<m:1>>": 3}, json_escape=True))

    assert files["settings"] == b'{"text": "a\\"b\\n", "number": 3}'


def test_translates_bucket_encryption() -> None:
    default = {"SSEAlgorithm": "aws:kms"}
    given = {
        "ServerSideEncryptionConfiguration": [
            {"ServerSideEncryptionByDefault": default, "BucketKeyEnabled": True}
        ]
    }

    assert encryption_configuration(given) == {
        "Rules": [{"ApplyServerSideEncryptionByDefault": default, "BucketKeyEnabled": True}]
    }


def test_translates_lifecycle_rules() -> None:
    rule = {
        "Id": "old",
        "Status": "Enabled",
        "Prefix": "logs/",
        "ExpirationInDays": 30,
        "NoncurrentVersionExpiration": {"NoncurrentDays": 7},
        "Transitions": [{"StorageClass": "GLACIER", "TransitionInDays": 10}],
    }

    assert lifecycle_configuration({"Rules": [rule]})["Rules"] == [
        {
            "ID": "old",
            "Status": "Enabled",
            "Filter": {"Prefix": "logs/"},
            "Expiration": {"Days": 30},
            "NoncurrentVersionExpiration": {"NoncurrentDays": 7},
            "Transitions": [{"StorageClass": "GLACIER", "Days": 10}],
        }
    ]


def test_names_a_lifecycle_setting_it_does_not_know() -> None:
    with pytest.raises(ProviderError, match="ObjectSizeLessThan of a lifecycle rule"):
        lifecycle_configuration({"Rules": [{"Status": "Enabled", "ObjectSizeLessThan": 5}]})


def test_generated_names_fit_and_differ() -> None:
    request = ResourceRequest("Logical" * 20, "T", {}, "stack", NoClients())  # type: ignore[arg-type]
    names = {request.generated_name(63) for _ in range(20)}

    assert len(names) == 20
    assert {len(name) for name in names} == {63}


def test_compares_properties_by_value() -> None:
    assert changed_properties({"a": 1, "b": [1], "c": 0}, {"b": [1], "a": 2, "d": 0}) == (
        "a",
        "c",
        "d",
    )


def test_every_type_can_update_only_what_it_supports() -> None:
    for resource_type, provider in PROVIDERS.items():
        assert provider.in_place <= provider.supported, resource_type


def test_isolation_takes_out_everything_that_leads_to_a_real_account() -> None:
    real = {
        "PATH": "/bin",
        "HOME": "/home/me",
        "AWS_PROFILE": "production",
        "AWS_ACCESS_KEY_ID": "AKIAREALREALREALREAL",
        "AWS_SESSION_TOKEN": "real",
        "AWS_ENDPOINT_URL_S3": "https://s3.us-west-2.amazonaws.com",
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true",
        "AWS_WEB_IDENTITY_TOKEN_FILE": "/var/run/token",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://169.254.170.2/x",
        "BOTO_CONFIG": "/home/me/.boto",
        "CDK_DEFAULT_ACCOUNT": "999999999999",
        "MOTO_ACCOUNT_ID": "999999999999",
        "no_proxy": "intranet",
    }
    given = variables(endpoint=ENDPOINT, account="111122223333", region="us-west-2")
    environment = isolated_environment(real, given)

    assert environment == {"PATH": "/bin", "HOME": "/home/me", **given}
    assert environment["AWS_ENDPOINT_URL"] == ENDPOINT
    assert (
        environment["AWS_CONFIG_FILE"] == environment["AWS_SHARED_CREDENTIALS_FILE"] == os.devnull
    )
    assert environment["AWS_EC2_METADATA_DISABLED"] == "true"
    assert "localhost" in environment["no_proxy"]
    assert environment["CDK_DEFAULT_ACCOUNT"] == "111122223333"


def test_isolation_leaves_it_to_the_user_whether_the_cdk_validates() -> None:
    assert isolated_environment({"CDK_VALIDATION": "false"}, {}) == {"CDK_VALIDATION": "false"}


def test_access_keys_have_the_form_of_real_ones_and_name_the_account() -> None:
    assert len(access_key_id("111122223333")) == 20
    assert access_key_id("111122223333") != access_key_id("444455556666")


def test_a_process_environment_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.delenv("AWS_REGION", raising=False)
    before = dict(os.environ)

    with process_environment({"PATH": before["PATH"], "AWS_REGION": "us-west-2"}):
        assert dict(os.environ) == {"PATH": before["PATH"], "AWS_REGION": "us-west-2"}
    assert dict(os.environ) == before


def test_a_file_system_is_described_with_its_mount_name() -> None:
    file_system = FileSystem(
        id="fs-0123456789abcdef0",
        arn="arn:aws:fsx:us-west-2:111122223333:file-system/fs-0123456789abcdef0",
        dns_name="fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com",
        mount_name="abcdefgh",
        vpc_id="vpc-1",
        owner="111122223333",
        request={
            "FileSystemType": "LUSTRE",
            "SubnetIds": ["subnet-1"],
            "StorageCapacity": 1200,
            "LustreConfiguration": {"DeploymentType": "PERSISTENT_2"},
        },
        tags={"b": "2", "a": "1"},
    )
    shape = file_system_shape(file_system)

    assert shape["Lifecycle"] == "AVAILABLE"
    assert shape["LustreConfiguration"] == {
        "DeploymentType": "PERSISTENT_2",
        "MountName": "abcdefgh",
    }
    assert [tag["Key"] for tag in shape["Tags"]] == ["a", "b"]
