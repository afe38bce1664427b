"""The drift operations of the CloudFormation API, and their results so far."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from embedded_aws.cloudformation.drift import NOT_CHECKED, Difference, Drift
from embedded_aws.cloudformation.engine import CloudFormation
from embedded_aws.cloudformation.stack import Stack
from embedded_aws.errors import validation_error
from embedded_aws.ids import ids
from embedded_aws.wire import Operation

Shape = dict[str, Any]


@dataclass(frozen=True)
class _Detection:
    """One drift detection of a whole stack or of some resources."""

    id: str
    stack: Stack
    drifted: int
    looked_at: datetime

    @property
    def status(self) -> str:
        """The stack's drift status."""
        return "DRIFTED" if self.drifted else "IN_SYNC"


class DriftApi:
    """Drift detection on a CloudFormation engine. It runs synchronously."""

    def __init__(self, engine: CloudFormation) -> None:
        self._engine = engine
        self._detections: dict[str, _Detection] = {}
        self._found: dict[str, dict[str, Drift]] = defaultdict(dict)
        self.operations: Mapping[str, Operation] = {
            "DescribeStackDriftDetectionStatus": self._describe_detection,
            "DescribeStackResourceDrifts": self._describe_drifts,
            "DetectStackDrift": self._detect,
            "DetectStackResourceDrift": self._detect_one,
        }

    def stack_information(self, stack: Stack) -> Shape:
        """Return the drift of a stack as DescribeStacks does."""
        last = [each for each in self._detections.values() if each.stack is stack]
        if not last:
            return {"StackDriftStatus": NOT_CHECKED}
        return {"StackDriftStatus": last[-1].status, "LastCheckTimestamp": last[-1].looked_at}

    def resource_information(self, stack: Stack, logical_id: str) -> Shape:
        """Return the drift of a resource as the operations on stack resources do."""
        found = self._found[stack.arn].get(logical_id)
        if found is None:
            return {"StackResourceDriftStatus": NOT_CHECKED}
        return {
            "StackResourceDriftStatus": found.status,
            "LastCheckTimestamp": found.looked_at,
        }

    def _detect(self, region: str, given: Mapping[str, Any]) -> Shape:
        stack = self._engine.stacks.find(region, given["StackName"])
        found = self._look(stack, given.get("LogicalResourceIds") or ())
        detection = _Detection(
            id=ids.uuid("drift detection"),
            stack=stack,
            drifted=sum(each.is_drifted for each in found),
            looked_at=datetime.now(UTC),
        )
        self._detections[detection.id] = detection
        return {"StackDriftDetectionId": detection.id}

    def _detect_one(self, region: str, given: Mapping[str, Any]) -> Shape:
        stack = self._engine.stacks.find(region, given["StackName"])
        name = given["LogicalResourceId"]
        if name not in stack.resources:
            raise validation_error(f"Resource {name} does not exist for stack {stack.name}")
        (found,) = self._look(stack, [name])
        return {"StackResourceDrift": _shape(stack, found)}

    def _look(self, stack: Stack, wanted: Collection[str]) -> list[Drift]:
        found = self._engine.drifts(stack, wanted)
        self._found[stack.arn] |= {each.resource.logical_id: each for each in found}
        return found

    def _describe_detection(self, _region: str, given: Mapping[str, Any]) -> Shape:
        detection = self._detections.get(given["StackDriftDetectionId"])
        if detection is None:
            raise validation_error(
                f"Drift detection {given['StackDriftDetectionId']} does not exist"
            )
        return {
            "StackId": detection.stack.arn,
            "StackDriftDetectionId": detection.id,
            "StackDriftStatus": detection.status,
            "DetectionStatus": "DETECTION_COMPLETE",
            "DriftedStackResourceCount": detection.drifted,
            "Timestamp": detection.looked_at,
        }

    def _describe_drifts(self, region: str, given: Mapping[str, Any]) -> Shape:
        stack = self._engine.stacks.find(region, given["StackName"])
        wanted = given.get("StackResourceDriftStatusFilters")
        drifts = [
            _shape(stack, found)
            for found in self._found[stack.arn].values()
            if not wanted or found.status in wanted
        ]
        return {"StackResourceDrifts": drifts}


def _shape(stack: Stack, drift: Drift) -> Shape:
    resource = drift.resource
    expected = {name: resource.properties[name] for name in drift.actual}
    return {
        "StackId": stack.arn,
        "LogicalResourceId": resource.logical_id,
        "PhysicalResourceId": resource.physical_id,
        "ResourceType": resource.type,
        "ExpectedProperties": json.dumps(expected, default=str),
        "ActualProperties": json.dumps(drift.actual, default=str),
        "PropertyDifferences": [_difference(each) for each in drift.differences],
        "StackResourceDriftStatus": drift.status,
        "Timestamp": drift.looked_at,
    }


def _difference(difference: Difference) -> Shape:
    return {
        "PropertyPath": difference.path,
        "ExpectedValue": json.dumps(difference.expected, default=str),
        "ActualValue": json.dumps(difference.actual, default=str),
        "DifferenceType": difference.kind,
    }
