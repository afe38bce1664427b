"""Notebook instances in stacks of the embedded AWS: made, changed, kept, refused, deleted."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.cloud.embedded_stacks import Resources, Stacks, att, ref, resource

NETWORK: Resources = {
    "Vpc": resource("EC2::VPC", CidrBlock="10.0.0.0/16"),
    "Subnet": resource("EC2::Subnet", VpcId=ref("Vpc"), CidrBlock="10.0.1.0/24"),
    "Access": resource("EC2::SecurityGroup", VpcId=ref("Vpc"), GroupDescription="notebook"),
}


def notebook(name: str, script: str = "true", **properties: Any) -> Resources:
    """Return a stack's resources, with one notebook instance."""
    return {
        **NETWORK,
        "Script": resource(
            "SageMaker::NotebookInstanceLifecycleConfig",
            NotebookInstanceLifecycleConfigName=name,
            OnStart=[{"Content": {"Fn::Base64": script}}],
        ),
        "Notebook": resource(
            "SageMaker::NotebookInstance",
            **{
                "NotebookInstanceName": name,
                "InstanceType": "ml.t3.medium",
                "RoleArn": "arn:aws:iam::111122223333:role/notebook",
                "SubnetId": ref("Subnet"),
                "SecurityGroupIds": [att("Access", "GroupId")],
                "VolumeSizeInGB": 20,
                "LifecycleConfigName": att("Script", "NotebookInstanceLifecycleConfigName"),
                **properties,
            },
        ),
    }


def described(stacks: Stacks, name: str) -> Any:
    return stacks.clients.sagemaker.describe_notebook_instance(NotebookInstanceName=name)


def test_it_is_stopped_to_be_changed_and_deleted(stacks: Stacks) -> None:
    made = stacks.deploy("changing", notebook("changing"))
    assert made.status == "CREATE_COMPLETE", made.reasons
    before = described(stacks, "changing")
    assert before["NotebookInstanceStatus"] == "InService"
    larger = notebook("changing", "false", InstanceType="ml.m7i.large", VolumeSizeInGB=40)
    changed = stacks.deploy("changing", larger)
    assert changed.status == "UPDATE_COMPLETE", changed.reasons
    after = described(stacks, "changing")
    assert (after["InstanceType"], after["VolumeSizeInGB"]) == ("ml.m7i.large", 40)
    assert after["NotebookInstanceStatus"] == "InService"
    assert after["CreationTime"] == before["CreationTime"]
    smaller = stacks.deploy("changing", notebook("changing", "false"))
    assert smaller.status == "UPDATE_ROLLBACK_COMPLETE"
    assert "cannot be decreased" in smaller.reasons
    assert stacks.delete("changing").status == "DELETE_COMPLETE"
    with pytest.raises(ClientError, match="Could not find notebook instance"):
        described(stacks, "changing")


def test_one_that_is_kept_keeps_its_subnet(stacks: Stacks) -> None:
    resources = notebook("kept")
    kept = {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}
    resources["Notebook"] |= kept
    resources["Script"] |= kept
    assert stacks.deploy("kept", resources).status == "CREATE_COMPLETE"
    assert stacks.delete("kept").status == "DELETE_FAILED"
    sagemaker = stacks.clients.sagemaker
    with pytest.raises(ClientError, match="is wrong"):
        sagemaker.delete_notebook_instance(NotebookInstanceName="kept")
    sagemaker.stop_notebook_instance(NotebookInstanceName="kept")
    sagemaker.delete_notebook_instance(NotebookInstanceName="kept")
    assert stacks.delete("kept").status == "DELETE_COMPLETE"


def test_another_subnet_would_be_another_instance_and_is_refused(stacks: Stacks) -> None:
    assert stacks.deploy("moved", notebook("moved")).status == "CREATE_COMPLETE"
    other = resource("EC2::Subnet", VpcId=ref("Vpc"), CidrBlock="10.0.2.0/24")
    moved = {**notebook("moved", SubnetId=ref("Other")), "Other": other}
    refused = stacks.deploy("moved", moved)
    assert refused.status == "UPDATE_ROLLBACK_COMPLETE"
    assert "already existing notebook instance" in refused.reasons
    stacks.delete("moved")
