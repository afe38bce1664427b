"""Models and endpoints in stacks of the embedded AWS: made, turned, scaled, refused, deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.cloud.embedded_stacks import Resources, Stacks, att, ref, resource

IMAGE = "111122223333.dkr.ecr.us-west-2.amazonaws.com/gpt-j:1.0"
REPOSITORY = "arn:aws:ecr:us-west-2:111122223333:repository/gpt-j"
SAGEMAKER = "sagemaker.amazonaws.com"
MAY_ALL = {
    "s3:GetObject": "arn:aws:s3:::models/*",
    "ecr:GetDownloadUrlForLayer": REPOSITORY,
    "ecr:BatchGetImage": REPOSITORY,
    "ecr:BatchCheckLayerAvailability": REPOSITORY,
    "ecr:GetAuthorizationToken": "*",
}


def role(rights: Mapping[str, str] = MAY_ALL, *, service: str = SAGEMAKER) -> Any:
    """Return a role that may do each action on a resource."""
    trust = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    allowed = [{"Effect": "Allow", "Action": each, "Resource": rights[each]} for each in rights]
    return resource(
        "IAM::Role",
        AssumeRolePolicyDocument={"Version": "2012-10-17", "Statement": [trust]},
        Policies=[
            {
                "PolicyName": "own",
                "PolicyDocument": {"Version": "2012-10-17", "Statement": allowed},
            }
        ],
    )


def endpoint(name: str, instance_type: str = "ml.g5.xlarge", **variant: Any) -> Resources:
    """Return a stack's resources, with an endpoint of one model."""
    return {
        "Role": role(),
        "Model": resource(
            "SageMaker::Model",
            ExecutionRoleArn=att("Role", "Arn"),
            PrimaryContainer={"Image": IMAGE, "ModelDataUrl": f"s3://models/{name}/model.tar.gz"},
        ),
        "Configuration": resource(
            "SageMaker::EndpointConfig",
            ProductionVariants=[
                {
                    "VariantName": "model",
                    "ModelName": att("Model", "ModelName"),
                    "InstanceType": instance_type,
                    "InitialInstanceCount": 1,
                    "InitialVariantWeight": 1,
                    **variant,
                }
            ],
        ),
        "Endpoint": resource(
            "SageMaker::Endpoint",
            EndpointName=name,
            EndpointConfigName=att("Configuration", "EndpointConfigName"),
            Tags=[{"Key": "for", "Value": instance_type}],
        ),
    }


def scaled(resources: Resources, most: int = 4) -> Resources:
    return {
        **resources,
        "Target": resource(
            "ApplicationAutoScaling::ScalableTarget",
            ServiceNamespace="sagemaker",
            ScalableDimension="sagemaker:variant:DesiredInstanceCount",
            ResourceId={"Fn::Sub": "endpoint/${Endpoint.EndpointName}/variant/model"},
            MinCapacity=1,
            MaxCapacity=most,
            Tags=[{"Key": "for", "Value": "requests"}],
        ),
        "Policy": resource(
            "ApplicationAutoScaling::ScalingPolicy",
            PolicyName="requests",
            PolicyType="TargetTrackingScaling",
            ScalingTargetId=ref("Target"),
            TargetTrackingScalingPolicyConfiguration={
                "TargetValue": 60,
                "PredefinedMetricSpecification": {
                    "PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"
                },
            },
        ),
    }


def target(stacks: Stacks, name: str) -> Any:
    scaling = stacks.clients.service("application-autoscaling")
    found = scaling.describe_scalable_targets(
        ServiceNamespace="sagemaker", ResourceIds=[f"endpoint/{name}/variant/model"]
    )
    return found["ScalableTargets"]


def test_an_endpoint_turns_to_another_configuration_in_place(stacks: Stacks) -> None:
    sagemaker = stacks.clients.sagemaker
    first = stacks.deploy("turning", endpoint("turning"))
    assert first.status == "CREATE_COMPLETE", first.reasons
    before = sagemaker.describe_endpoint(EndpointName="turning")
    assert before["EndpointStatus"] == "InService"
    assert before["ProductionVariants"][0]["CurrentInstanceCount"] == 1

    second = stacks.deploy("turning", endpoint("turning", "ml.g5.2xlarge", InitialInstanceCount=2))
    assert second.status == "UPDATE_COMPLETE", second.reasons
    after = sagemaker.describe_endpoint(EndpointName="turning")
    assert after["EndpointArn"] == before["EndpointArn"]
    assert after["EndpointConfigName"] != before["EndpointConfigName"]
    assert after["ProductionVariants"][0]["CurrentInstanceCount"] == 2
    assert sagemaker.list_tags(ResourceArn=after["EndpointArn"])["Tags"] == [
        {"Key": "for", "Value": "ml.g5.2xlarge"}
    ]
    names = [
        each["EndpointConfigName"] for each in sagemaker.list_endpoint_configs()["EndpointConfigs"]
    ]
    assert before["EndpointConfigName"] not in names

    stacks.delete("turning")
    with pytest.raises(ClientError, match="Could not find endpoint"):
        sagemaker.describe_endpoint(EndpointName="turning")


def test_another_type_is_refused_while_the_endpoint_is_scaled(stacks: Stacks) -> None:
    made = stacks.deploy("scaled", scaled(endpoint("scaled")))
    assert made.status == "CREATE_COMPLETE", made.reasons
    assert target(stacks, "scaled")[0]["MaxCapacity"] == 4
    assert stacks.deploy("scaled", scaled(endpoint("scaled"), 6)).status == "UPDATE_COMPLETE"
    assert target(stacks, "scaled")[0]["MaxCapacity"] == 6

    refused = stacks.deploy("scaled", scaled(endpoint("scaled", "ml.g5.2xlarge"), 6))
    assert refused.status == "UPDATE_ROLLBACK_COMPLETE"
    assert "must be deregistered as scalable targets" in refused.reasons

    assert stacks.deploy("scaled", endpoint("scaled")).status == "UPDATE_COMPLETE"
    assert target(stacks, "scaled") == []
    assert stacks.deploy("scaled", endpoint("scaled", "ml.g5.2xlarge")).status == "UPDATE_COMPLETE"
    stacks.delete("scaled")


def test_a_name_is_taken_once(stacks: Stacks) -> None:
    assert stacks.deploy("one", endpoint("taken")).status == "CREATE_COMPLETE"
    other = stacks.deploy("other", endpoint("taken"))
    assert other.status == "ROLLBACK_COMPLETE"
    assert "already existing endpoint" in other.reasons
    models = stacks.clients.sagemaker.list_models()["Models"]
    assert len(models) == 1
    stacks.delete("other")
    stacks.delete("one")


def without(action: str) -> dict[str, str]:
    return {each: MAY_ALL[each] for each in MAY_ALL if each != action}


NO_DATA = "Could not access model data at s3://models/refused/model.tar.gz"
NO_IMAGE = f"The repository of your image {IMAGE} does not grant"


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        (role(without("s3:GetObject")), NO_DATA),
        (role(MAY_ALL | {"s3:GetObject": "arn:aws:s3:::models/taken/*"}), NO_DATA),
        (role(service="ec2.amazonaws.com"), NO_DATA),
        *((role(without(each)), NO_IMAGE) for each in MAY_ALL if each.startswith("ecr:")),
    ],
)
def test_a_role_that_gets_no_model_or_no_image_is_refused(
    stacks: Stacks, refused: Any, told: str
) -> None:
    result = stacks.deploy("refused", {**endpoint("refused"), "Role": refused})
    assert result.status == "ROLLBACK_COMPLETE"
    assert told in result.reasons
    stacks.delete("refused")


def test_data_are_looked_for_where_their_bucket_is(stacks: Stacks) -> None:
    s3, sagemaker = stacks.clients.s3, stacks.clients.sagemaker
    s3.create_bucket(
        Bucket="own-models", CreateBucketConfiguration={"LocationConstraint": "us-west-2"}
    )
    rights = {
        "s3:GetObject": "arn:aws:s3:::own-models/*",
        "s3:ListBucket": "arn:aws:s3:::own-models",
    }
    made = stacks.deploy("reader", {"Role": role(rights)}, Arn=att("Role", "Arn"))
    source = {
        "S3Uri": "s3://own-models/gpt-j/",
        "S3DataType": "S3Prefix",
        "CompressionType": "None",
    }
    given: Any = {
        "ModelName": "folder",
        "ExecutionRoleArn": made.outputs["Arn"],
        "PrimaryContainer": {
            "Image": "registry.example:5000/gpt-j",
            "ModelDataSource": {"S3DataSource": source},
        },
    }
    with pytest.raises(ClientError, match="Could not access model data at s3://own-models/gpt-j/"):
        sagemaker.create_model(**given)
    s3.put_object(Bucket="own-models", Key="gpt-j/weights", Body=b"")
    sagemaker.create_model(**given)
    sagemaker.delete_model(ModelName="folder")
    unlisted = stacks.deploy("reader", {"Role": role({"s3:GetObject": rights["s3:GetObject"]})})
    assert unlisted.status == "UPDATE_COMPLETE", unlisted.reasons
    with pytest.raises(ClientError, match='ensure that the role has "s3:ListBucket" permission'):
        sagemaker.create_model(**given)
    stacks.delete("reader")
