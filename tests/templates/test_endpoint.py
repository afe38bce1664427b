"""The endpoint stack: a role that reads this model alone, key, log, scaling, alarms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slurmpod_cdk.nag.review import review
from tests.served import served
from tests.templates.linting import lint
from tests.templates.synthesis import Synthesized, Template, of_type, only, synthesize

KEY = "arn:aws:kms:us-west-2:123456789012:key/12345678-1234-1234-1234-123456789012"
SCALING = {"max_instances": 4, "invocations_per_instance": 60}


@pytest.fixture(scope="module")
def plain() -> Synthesized:
    """Return the least that can be written, on a type with disks of its own."""
    return synthesize(served())


@pytest.fixture(scope="module")
def full() -> Synthesized:
    """Return all that can be written, on a type without."""
    return synthesize(
        served(
            monitoring={},
            instance_type="ml.p3.2xlarge",
            model_data="s3://models/gpt-j/",
            model_data_kms_key_arn=KEY,
            kms_key_arn=KEY,
            environment={"HF_TASK": "text-generation"},
            network_isolation=False,
            scaling=SCALING,
            delete_after="2027-03-31",
        )
    )


def endpoint(made: Synthesized) -> Template:
    return made.templates["endpoint"]


def statements(made: Synthesized) -> dict[str, Any]:
    (policy,) = only(endpoint(made), "AWS::IAM::Role")["Policies"]
    return {each["Sid"]: each for each in policy["PolicyDocument"]["Statement"]}


def container(made: Synthesized) -> Any:
    return only(endpoint(made), "AWS::SageMaker::Model")["PrimaryContainer"]


def variant(made: Synthesized) -> Any:
    (found,) = only(endpoint(made), "AWS::SageMaker::EndpointConfig")["ProductionVariants"]
    return found


def test_an_environment_without_it_has_no_endpoint_stack() -> None:
    assert served(services={}).stacks.endpoint is None


class TestRole:
    def test_it_reads_its_own_archive_and_image(self, plain: Synthesized) -> None:
        found = statements(plain)
        assert found["ReadModel"]["Action"] == "s3:GetObject"
        assert found["ReadModel"]["Resource"] == "arn:aws:s3:::models/gpt-j/model.tar.gz"
        repository = "arn:aws:ecr:us-west-2:123456789012:repository/gpt-j"
        assert found["PullImage"]["Resource"] == repository
        assert not {"ListModel", "UseKeyOfModel", "UseKeyOfVolumes"} & found.keys()

    def test_it_reads_its_own_folder_and_uses_the_keys_that_are_named(
        self, full: Synthesized
    ) -> None:
        found = statements(full)
        assert found["ReadModel"]["Resource"] == "arn:aws:s3:::models/gpt-j/*"
        assert found["ListModel"]["Resource"] == "arn:aws:s3:::models"
        assert found["ListModel"]["Condition"] == {"StringLike": {"s3:prefix": "gpt-j/*"}}
        assert found["UseKeyOfModel"]["Resource"] == KEY
        assert found["UseKeyOfVolumes"]["Resource"] == KEY

    def test_it_writes_into_the_log_of_the_endpoint_alone(self, plain: Synthesized) -> None:
        log = only(endpoint(plain), "AWS::Logs::LogGroup")
        assert log["LogGroupName"] == "/aws/sagemaker/Endpoints/dev"
        streams = f"log-group:{log['LogGroupName']}:log-stream:*"
        assert statements(plain)["WriteLog"]["Resource"].endswith(streams)
        actions = [each["Action"] for each in statements(plain).values()]
        flat = {a for each in actions for a in ([each] if isinstance(each, str) else each)}
        assert "logs:CreateLogGroup" not in flat
        assert not [action for action in flat if action.endswith("*")]


class TestServing:
    def test_the_container_is_isolated_in_the_subnets_of_the_cluster(
        self, plain: Synthesized
    ) -> None:
        model = only(endpoint(plain), "AWS::SageMaker::Model")
        assert model["EnableNetworkIsolation"] is True
        assert len(model["VpcConfig"]["Subnets"]) == 2
        assert len(model["VpcConfig"]["SecurityGroupIds"]) == 1
        assert container(plain)["ModelDataUrl"] == "s3://models/gpt-j/model.tar.gz"

    def test_a_folder_is_a_model_of_many_files(self, full: Synthesized) -> None:
        assert "ModelDataUrl" not in container(full)
        assert container(full)["ModelDataSource"]["S3DataSource"] == {
            "S3Uri": "s3://models/gpt-j/",
            "S3DataType": "S3Prefix",
            "CompressionType": "None",
        }
        assert container(full)["Environment"] == {"HF_TASK": "text-generation"}

    def test_model_and_configuration_have_no_name_that_would_stop_their_replacement(
        self, plain: Synthesized
    ) -> None:
        assert "ModelName" not in only(endpoint(plain), "AWS::SageMaker::Model")
        configuration = only(endpoint(plain), "AWS::SageMaker::EndpointConfig")
        assert "EndpointConfigName" not in configuration
        assert only(endpoint(plain), "AWS::SageMaker::Endpoint")["EndpointName"] == "dev"

    def test_a_key_is_for_volumes_only_where_the_type_takes_one(self) -> None:
        made = synthesize(served(kms_key_arn=KEY))
        assert "KmsKeyId" not in only(endpoint(made), "AWS::SageMaker::EndpointConfig")
        assert only(endpoint(made), "AWS::Logs::LogGroup")["KmsKeyId"] == KEY
        assert "UseKeyOfVolumes" not in statements(made)
        assert review(made.app) == ()

    def test_a_key_is_for_volumes_and_log(self, full: Synthesized) -> None:
        assert only(endpoint(full), "AWS::SageMaker::EndpointConfig")["KmsKeyId"] == KEY
        assert only(endpoint(full), "AWS::Logs::LogGroup")["KmsKeyId"] == KEY


class TestScaling:
    def test_without_it_the_number_of_instances_is_fixed(self, plain: Synthesized) -> None:
        assert not of_type(endpoint(plain), "AWS::ApplicationAutoScaling::ScalableTarget")
        assert variant(plain)["InitialInstanceCount"] == 1

    def test_it_follows_the_requests_and_an_update_keeps_what_it_chose(
        self, full: Synthesized
    ) -> None:
        target = only(endpoint(full), "AWS::ApplicationAutoScaling::ScalableTarget")
        assert (target["MinCapacity"], target["MaxCapacity"]) == (1, 4)
        policy = only(endpoint(full), "AWS::ApplicationAutoScaling::ScalingPolicy")
        tracking = policy["TargetTrackingScalingPolicyConfiguration"]
        assert tracking["TargetValue"] == 60
        served_by = only(endpoint(full), "AWS::SageMaker::Endpoint")
        assert served_by["RetainAllVariantProperties"] is True


class TestAlarms:
    def test_there_are_none_where_nobody_is_told(self, plain: Synthesized) -> None:
        assert not of_type(endpoint(plain), "AWS::CloudWatch::Alarm")

    def test_errors_and_an_unused_endpoint_are_told(self, full: Synthesized) -> None:
        alarms = of_type(endpoint(full), "AWS::CloudWatch::Alarm").values()
        found = {each["Properties"]["MetricName"]: each["Properties"] for each in alarms}
        assert set(found) == {"Invocation5XXErrors", "Invocations"}
        unused = found["Invocations"]
        assert (unused["Period"], unused["TreatMissingData"]) == (86400, "breaching")
        assert all(each["AlarmActions"] for each in found.values())


def test_the_day_until_which_it_is_wanted_is_a_tag(full: Synthesized, plain: Synthesized) -> None:
    tag = {"Key": "slurmpod:delete-after", "Value": "2027-03-31"}
    assert tag in only(endpoint(full), "AWS::SageMaker::Endpoint")["Tags"]
    keys = [each["Key"] for each in only(endpoint(plain), "AWS::SageMaker::Endpoint")["Tags"]]
    assert tag["Key"] not in keys


def test_findings_of_cdk_nag_are_fixed_or_waived(full: Synthesized, plain: Synthesized) -> None:
    assert review(full.app) == ()
    assert review(plain.app) == ()


def test_cfn_lint_finds_nothing(full: Synthesized, tmp_path: Path) -> None:
    file = tmp_path / "endpoint.json"
    file.write_text(json.dumps(endpoint(full)))
    assert lint([str(file)], "us-west-2") == []
