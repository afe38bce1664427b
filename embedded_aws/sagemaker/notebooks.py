"""Notebook instances and their lifecycle configurations: stored and described; no script runs.

Source: API reference, CreateNotebookInstance, UpdateNotebookInstance, DeleteNotebookInstance and
related operations. An instance has a network interface, which blocks the deletion of its subnet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from embedded_aws.clients import Clients
from embedded_aws.errors import ServiceError
from embedded_aws.sagemaker.records import Record, Records, now
from embedded_aws.wire import Operation

Shape = dict[str, Any]

IN_SERVICE, STOPPED = "InService", "Stopped"
INTERFACE_DESCRIPTION = "Notebook instance"
_RENAMED = {
    "LifecycleConfigName": "NotebookInstanceLifecycleConfigName",
    "SecurityGroupIds": "SecurityGroups",
}
"""Members with different names in descriptions and requests."""


class Notebooks:
    """The notebook instances and lifecycle configurations of all Regions."""

    def __init__(self, clients: Callable[[str], Clients]) -> None:
        self._clients = clients
        self._instances = Records(
            clients,
            noun="notebook instance",
            kind="notebook-instance",
            name_of="NotebookInstanceName",
        )
        self._scripts = Records(
            clients,
            noun="notebook instance lifecycle configuration",
            kind="notebook-instance-lifecycle-config",
            name_of="NotebookInstanceLifecycleConfigName",
        )
        self.kinds = (self._instances, self._scripts)
        self.operations: Mapping[str, Operation] = {
            "CreateNotebookInstance": self._create,
            "DescribeNotebookInstance": self._describe,
            "ListNotebookInstances": lambda region, given: self._instances.page(
                region, given, "NotebookInstances", ("NotebookInstanceStatus",)
            ),
            "StartNotebookInstance": lambda region, given: self._turn(region, given, IN_SERVICE),
            "StopNotebookInstance": lambda region, given: self._turn(region, given, STOPPED),
            "UpdateNotebookInstance": self._update,
            "DeleteNotebookInstance": self._delete,
            "CreateNotebookInstanceLifecycleConfig": self._create_script,
            "DescribeNotebookInstanceLifecycleConfig": self._describe_script,
            "UpdateNotebookInstanceLifecycleConfig": self._update_script,
            "DeleteNotebookInstanceLifecycleConfig": self._delete_script,
        }

    def _create(self, region: str, given: Mapping[str, Any]) -> Shape:
        if name := given.get("LifecycleConfigName"):
            self._scripts.find(region, name)
        record = self._instances.add(region, given)
        record.own = {"NotebookInstanceStatus": IN_SERVICE}
        if subnet := given.get("SubnetId"):
            made = self._clients(region).ec2.create_network_interface(
                SubnetId=subnet,
                Groups=given.get("SecurityGroupIds", []),
                Description=f"{INTERFACE_DESCRIPTION} {record.name}",
            )
            record.own["NetworkInterfaceId"] = made["NetworkInterface"]["NetworkInterfaceId"]
        return {"NotebookInstanceArn": record.arn}

    def _describe(self, region: str, given: Mapping[str, Any]) -> Shape:
        found = self._instances.described(self._find(region, given))
        return {_RENAMED.get(name, name): value for name, value in found.items()}

    def _turn(self, region: str, given: Mapping[str, Any], status: str) -> None:
        record = self._find(region, given)
        if record.own["NotebookInstanceStatus"] == status:
            raise _wrong_status(record)
        record.own["NotebookInstanceStatus"] = status

    def _update(self, region: str, given: Mapping[str, Any]) -> Shape:
        record = self._stopped(region, given)
        if given.get("VolumeSizeInGB", 0) < record.given.get("VolumeSizeInGB", 0):
            raise ServiceError("ValidationException", "The volume size cannot be decreased.")
        if name := given.get("LifecycleConfigName"):
            self._scripts.find(region, name)
        record.given |= given
        record.modified_at = now()
        return {}

    def _delete(self, region: str, given: Mapping[str, Any]) -> None:
        record = self._stopped(region, given)
        if interface := record.own.get("NetworkInterfaceId"):
            self._clients(region).ec2.delete_network_interface(NetworkInterfaceId=interface)
        self._instances.remove(region, record.name)

    def _create_script(self, region: str, given: Mapping[str, Any]) -> Shape:
        return {"NotebookInstanceLifecycleConfigArn": self._scripts.add(region, given).arn}

    def _describe_script(self, region: str, given: Mapping[str, Any]) -> Shape:
        return self._scripts.described(self._script(region, given))

    def _update_script(self, region: str, given: Mapping[str, Any]) -> Shape:
        self._script(region, given).given |= given
        return {}

    def _delete_script(self, region: str, given: Mapping[str, Any]) -> None:
        self._scripts.remove(region, self._script(region, given).name)

    def _find(self, region: str, given: Mapping[str, Any]) -> Record:
        return self._instances.find(region, given["NotebookInstanceName"])

    def _script(self, region: str, given: Mapping[str, Any]) -> Record:
        return self._scripts.find(region, given["NotebookInstanceLifecycleConfigName"])

    def _stopped(self, region: str, given: Mapping[str, Any]) -> Record:
        record = self._find(region, given)
        if record.own["NotebookInstanceStatus"] != STOPPED:
            raise _wrong_status(record)
        return record


def _wrong_status(record: Record) -> ServiceError:
    status = record.own["NotebookInstanceStatus"]
    return ServiceError(
        "ValidationException", f"Status ({status}) of notebook instance {record.arn} is wrong"
    )
