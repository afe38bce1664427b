"""One resource of every kind that holds data, as templates define it, and how to tell its data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from embedded_aws.clients import Clients
from tests.cloud.embedded_file_systems import lustre, openzfs
from tests.cloud.embedded_stacks import ACCOUNT, REGION, Resources, ref, resource

RETAINED = {"DeletionPolicy": "RetainExceptOnCreate", "UpdateReplacePolicy": "Retain"}
"""The policies of data; tests/templates/test_retention.py holds the stacks to them."""

MARK = "data"


@dataclass(frozen=True)
class Kind:
    """A kind of resource.

    `definition` takes what the test chooses: a name where the kind has one, and whether it is the
    version that replaces the first. `mark` leaves data, `is_marked` finds it, `all_ids` are those
    of every resource of the kind that there is.
    """

    definition: Callable[[str, bool], dict[str, Any]]
    mark: Callable[[Clients, str], object]
    is_marked: Callable[[Clients, str], bool]
    all_ids: Callable[[Clients], list[str]]
    beside: Resources = field(default_factory=dict)
    """What else the stack has, which is deleted with it."""


def retained(definition: dict[str, Any]) -> dict[str, Any]:
    """Give a definition the policies of data."""
    return {**definition, **RETAINED}


def in_network(definition: dict[str, Any], place: dict[str, str]) -> dict[str, Any]:
    """Put a file system into a network that is there."""
    properties = {
        **definition["Properties"],
        "SubnetIds": [place["Subnet"]],
        "SecurityGroupIds": [place["Group"]],
    }
    return {"Type": definition["Type"], "Properties": properties}


def kinds(place: dict[str, str]) -> dict[str, Kind]:
    """Return every kind; those that need a network lie in `place`."""
    return {
        "lustre": Kind(
            definition=lambda _, other: retained(
                in_network(lustre(**({"CopyTagsToBackups": True} if other else {})), place)
            ),
            mark=_tag_file_system,
            is_marked=_is_tagged_file_system,
            all_ids=_file_systems,
        ),
        "openzfs": Kind(
            definition=lambda _, other: retained(
                in_network(openzfs(**({"DeploymentType": "SINGLE_AZ_2"} if other else {})), place)
            ),
            mark=_tag_file_system,
            is_marked=_is_tagged_file_system,
            all_ids=_file_systems,
        ),
        "bucket": Kind(
            definition=lambda name, other: retained(
                resource("S3::Bucket", BucketName=f"{name}-new" if other else name)
            ),
            mark=lambda aws, id_: aws.s3.put_object(Bucket=id_, Key=MARK, Body=b"1"),
            is_marked=lambda aws, id_: "Contents" in aws.s3.list_objects_v2(Bucket=id_),
            all_ids=lambda aws: [each["Name"] for each in aws.s3.list_buckets()["Buckets"]],
        ),
        "log_group": Kind(
            definition=lambda name, other: retained(
                resource("Logs::LogGroup", LogGroupName=f"/{name}/new" if other else f"/{name}")
            ),
            mark=lambda aws, id_: aws.logs.create_log_stream(logGroupName=id_, logStreamName=MARK),
            is_marked=lambda aws, id_: bool(
                aws.logs.describe_log_streams(logGroupName=id_)["logStreams"]
            ),
            all_ids=lambda aws: [
                each["logGroupName"] for each in aws.logs.describe_log_groups()["logGroups"]
            ],
        ),
        "key": Kind(
            definition=lambda name, _: retained(resource("KMS::Key", Description=name)),
            mark=lambda aws, id_: aws.service("kms").tag_resource(
                KeyId=id_, Tags=[{"TagKey": MARK, "TagValue": "1"}]
            ),
            is_marked=_is_usable_key,
            all_ids=_usable_keys,
        ),
        "database": Kind(
            definition=lambda name, other: retained(_database(name, is_other=other)),
            mark=lambda aws, id_: aws.service("rds").add_tags_to_resource(
                ResourceName=_database_arn(aws, id_), Tags=[{"Key": MARK, "Value": "1"}]
            ),
            is_marked=lambda aws, id_: {"Key": MARK, "Value": "1"} in _server(aws, id_)["TagList"],
            all_ids=lambda aws: [
                each["DBInstanceIdentifier"]
                for each in aws.service("rds").describe_db_instances()["DBInstances"]
            ],
            beside={"Subnets": retained(_subnet_group(place))},
        ),
        "prometheus": Kind(
            definition=lambda name, other: retained(_workspace(name, is_other=other)),
            mark=lambda aws, id_: aws.service("amp").tag_resource(
                resourceArn=id_, tags={MARK: "1"}
            ),
            is_marked=lambda aws, id_: (
                MARK in aws.service("amp").list_tags_for_resource(resourceArn=id_)["tags"]
            ),
            all_ids=lambda aws: [
                each["arn"] for each in aws.service("amp").list_workspaces()["workspaces"]
            ],
        ),
        "notebook": Kind(
            definition=lambda name, other: retained(
                _notebook(name, place, subnet=place["Second" if other else "Subnet"])
            ),
            mark=lambda aws, id_: aws.sagemaker.add_tags(
                ResourceArn=id_, Tags=[{"Key": MARK, "Value": "1"}]
            ),
            is_marked=lambda aws, id_: (
                {"Key": MARK, "Value": "1"} in aws.sagemaker.list_tags(ResourceArn=id_)["Tags"]
            ),
            all_ids=lambda aws: [
                each["NotebookInstanceArn"]
                for each in aws.sagemaker.list_notebook_instances()["NotebookInstances"]
            ],
        ),
    }


def _database(name: str, *, is_other: bool) -> dict[str, Any]:
    return resource(
        "RDS::DBInstance",
        DBInstanceIdentifier=name,
        DBInstanceClass="db.t4g.medium",
        Engine="mariadb",
        EngineVersion="10.11",
        AllocatedStorage="20",
        DBName="other" if is_other else "slurm",
        DBSubnetGroupName=ref("Subnets"),
        ManageMasterUserPassword=True,
        MasterUsername="slurm",
        DeletionProtection=True,
    )


def _subnet_group(place: dict[str, str]) -> dict[str, Any]:
    return resource(
        "RDS::DBSubnetGroup",
        DBSubnetGroupDescription="test",
        SubnetIds=[place["Subnet"], place["Second"]],
    )


def _workspace(name: str, *, is_other: bool) -> dict[str, Any]:
    key = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/00000000-0000-0000-0000-000000000000"
    return resource("APS::Workspace", Alias=name, **({"KmsKeyArn": key} if is_other else {}))


def _notebook(name: str, place: dict[str, str], *, subnet: str) -> dict[str, Any]:
    return resource(
        "SageMaker::NotebookInstance",
        NotebookInstanceName=name,
        InstanceType="ml.t3.medium",
        RoleArn=f"arn:aws:iam::{ACCOUNT}:role/notebook",
        SubnetId=subnet,
        SecurityGroupIds=[place["Group"]],
        VolumeSizeInGB=20,
    )


def _file_system(aws: Clients, id_: str) -> Any:
    (found,) = aws.fsx.describe_file_systems(FileSystemIds=[id_])["FileSystems"]
    return found


def _file_systems(aws: Clients) -> list[str]:
    return [each["FileSystemId"] for each in aws.fsx.describe_file_systems()["FileSystems"]]


def _tag_file_system(aws: Clients, id_: str) -> None:
    arn = _file_system(aws, id_)["ResourceARN"]
    aws.fsx.tag_resource(ResourceARN=arn, Tags=[{"Key": MARK, "Value": "1"}])


def _is_tagged_file_system(aws: Clients, id_: str) -> bool:
    found = _file_system(aws, id_)
    return found["Lifecycle"] == "AVAILABLE" and {"Key": MARK, "Value": "1"} in found["Tags"]


def _usable_keys(aws: Clients) -> list[str]:
    kms = aws.service("kms")
    described = [
        kms.describe_key(KeyId=each["KeyId"])["KeyMetadata"] for each in kms.list_keys()["Keys"]
    ]
    return [each["KeyId"] for each in described if each["KeyState"] == "Enabled"]


def _is_usable_key(aws: Clients, id_: str) -> bool:
    tags = aws.service("kms").list_resource_tags(KeyId=id_)["Tags"]
    return id_ in _usable_keys(aws) and {"TagKey": MARK, "TagValue": "1"} in tags


def _server(aws: Clients, id_: str) -> Any:
    (found,) = aws.service("rds").describe_db_instances(DBInstanceIdentifier=id_)["DBInstances"]
    return found


def _database_arn(aws: Clients, id_: str) -> str:
    return str(_server(aws, id_)["DBInstanceArn"])
