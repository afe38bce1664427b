"""Extensions of clusters in stacks of the embedded AWS: installed, changed, refused, removed."""

from __future__ import annotations

import json
from typing import Any

from tests.cloud.embedded_stacks import Resources, Stacks, att, ref, resource
from tests.pure.embedded_aws.cluster_requests import COMPUTE, CONTROLLER, group

NETWORK: Resources = {
    "Vpc": resource("EC2::VPC", CidrBlock="10.0.0.0/16"),
    "Subnet": resource("EC2::Subnet", VpcId=ref("Vpc"), CidrBlock="10.0.1.0/24"),
    "Access": resource("EC2::SecurityGroup", VpcId=ref("Vpc"), GroupDescription="nodes"),
}


def observed(name: str, mode: str | None = "Continuous", **properties: Any) -> Resources:
    """Return a stack's resources: a cluster with HyperPod's collector."""
    return {
        **NETWORK,
        "Cluster": resource(
            "SageMaker::Cluster",
            ClusterName=name,
            InstanceGroups=[
                group("head", SlurmConfig=CONTROLLER, LifeCycleConfig=None),
                group("cpu", SlurmConfig=COMPUTE, LifeCycleConfig=None),
            ],
            **({"NodeProvisioningMode": mode} if mode else {}),
            VpcConfig={"SecurityGroupIds": [att("Access", "GroupId")], "Subnets": [ref("Subnet")]},
        ),
        "Extension": resource(
            "SageMaker::Extension",
            ClusterArn=att("Cluster", "ClusterArn"),
            ExtensionName="sagemaker-observability",
            **properties,
        ),
    }


def levels(level: str) -> str:
    return json.dumps({"metricsProvider": {"nodeMetrics": {"level": level}}})


def installed(stacks: Stacks, cluster_arn: str) -> list[Any]:
    sagemaker: Any = stacks.clients.sagemaker
    listed = sagemaker.list_cluster_extensions(ClusterArn=cluster_arn)["Extensions"]
    return [
        sagemaker.describe_cluster_extension(
            ClusterArn=cluster_arn, ExtensionArn=each["ExtensionArn"]
        )["ExtensionDetails"]
        for each in listed
    ]


def level_of(extension: Any) -> str:
    settings = json.loads(extension["ConfigurationValues"])
    return str(settings["metricsProvider"]["nodeMetrics"]["level"])


def test_one_is_installed_changed_and_removed(stacks: Stacks) -> None:
    basic = observed("seen", ConfigurationValues=levels("BASIC"))
    made = stacks.deploy("seen", basic)
    assert made.status == "CREATE_COMPLETE", made.reasons
    arn = made.ids["Cluster"]
    (before,) = installed(stacks, arn)
    assert made.ids["Extension"] == before["ExtensionArn"]
    assert (before["ExtensionVersion"], level_of(before)) == ("1.0.0", "BASIC")

    advanced = observed("seen", ConfigurationValues=levels("ADVANCED"), ExtensionVersion="1.0.0")
    changed = stacks.deploy("seen", advanced)
    assert changed.status == "UPDATE_COMPLETE", changed.reasons
    (after,) = installed(stacks, arn)
    assert (after["ExtensionArn"], level_of(after)) == (before["ExtensionArn"], "ADVANCED")

    without = {key: each for key, each in advanced.items() if key != "Extension"}
    assert stacks.deploy("seen", without).status == "UPDATE_COMPLETE"
    assert installed(stacks, arn) == []
    assert stacks.delete("seen").status == "DELETE_COMPLETE"


def test_a_cluster_that_is_not_provisioned_continuously_gets_none(stacks: Stacks) -> None:
    refused = stacks.deploy("fixed", observed("fixed", None))
    assert refused.status == "ROLLBACK_COMPLETE"
    assert "only supported for clusters using Continuous" in refused.reasons


def test_settings_that_are_none_take_the_change_back(stacks: Stacks) -> None:
    stacks.deploy("misspelt", observed("misspelt"))
    wrong = observed("misspelt", ConfigurationValues='{"metricProvider": {}}')
    refused = stacks.deploy("misspelt", wrong)
    assert refused.status == "UPDATE_ROLLBACK_COMPLETE"
    assert "unknown settings: metricProvider" in refused.reasons
