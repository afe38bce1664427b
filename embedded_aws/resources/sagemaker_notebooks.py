"""SageMaker: notebook instances and their lifecycle scripts. Ref gives the ARN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from embedded_aws.resources.api_resource import DescribeCall, Naming
from embedded_aws.resources.provider import ResourceRequest
from embedded_aws.resources.sagemaker_hosting import NamedInSageMaker, name_in

STOPPED = "Stopped"


class NotebookInstanceLifecycleConfig(NamedInSageMaker):
    """Scripts that run when a notebook instance is created and started."""

    type = "AWS::SageMaker::NotebookInstanceLifecycleConfig"
    in_place = frozenset({"OnCreate", "OnStart", "Tags"})
    supported = in_place | {"NotebookInstanceLifecycleConfigName"}
    creation = "create_notebook_instance_lifecycle_config"
    change = "update_notebook_instance_lifecycle_config"
    deletion = "delete_notebook_instance_lifecycle_config"
    identity = "NotebookInstanceLifecycleConfigName"
    answer = ("NotebookInstanceLifecycleConfigArn",)
    naming = Naming("NotebookInstanceLifecycleConfigName", 63)
    described_by = DescribeCall(
        "describe_notebook_instance_lifecycle_config", "NotebookInstanceLifecycleConfigName"
    )
    read_attributes: ClassVar = {
        "NotebookInstanceLifecycleConfigName": ("NotebookInstanceLifecycleConfigName",)
    }


class NotebookInstance(NamedInSageMaker):
    """A notebook instance, which CloudFormation stops before it is changed or deleted."""

    type = "AWS::SageMaker::NotebookInstance"
    in_place = frozenset(
        {
            "InstanceMetadataServiceConfiguration",
            "InstanceType",
            "LifecycleConfigName",
            "RoleArn",
            "RootAccess",
            "Tags",
            "VolumeSizeInGB",
        }
    )
    supported = in_place | {
        "DirectInternetAccess",
        "KmsKeyId",
        "NotebookInstanceName",
        "PlatformIdentifier",
        "SecurityGroupIds",
        "SubnetId",
    }
    creation, change = "create_notebook_instance", "update_notebook_instance"
    deletion = "delete_notebook_instance"
    identity = "NotebookInstanceName"
    answer = ("NotebookInstanceArn",)
    naming = Naming("NotebookInstanceName", 63)
    described_by = DescribeCall("describe_notebook_instance", "NotebookInstanceName")
    read_attributes: ClassVar = {"NotebookInstanceName": ("NotebookInstanceName",)}

    def update(
        self, request: ResourceRequest, physical_id: str, previous: Mapping[str, Any]
    ) -> None:
        """Stop it, change it, and start it again if it was running."""
        if self.changes(request, previous) == _of(previous, self.in_place - {"Tags"}):
            self.retag(request, physical_id, previous)
            return
        ran = self._stop(request, physical_id)
        super().update(request, physical_id, previous)
        if ran:
            name = {self.identity: name_in(physical_id)}
            self.call(request, "start_notebook_instance", name)

    def delete(self, request: ResourceRequest, physical_id: str) -> None:
        """Stop and delete it."""
        self._stop(request, physical_id)
        super().delete(request, physical_id)

    def _stop(self, request: ResourceRequest, physical_id: str) -> bool:
        """Stop it, and return whether it was running."""
        found = self.described(request.aws, physical_id)
        if found["NotebookInstanceStatus"] == STOPPED:
            return False
        self.call(request, "stop_notebook_instance", {self.identity: name_in(physical_id)})
        return True


def _of(properties: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: properties[name] for name in names if name in properties}
