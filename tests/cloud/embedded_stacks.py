"""Templates deployed to an embedded AWS through the CloudFormation API, without the CDK."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from embedded_aws.clients import Clients
from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.server import EmbeddedAws

ACCOUNT = "111122223333"
REGION = "us-west-2"

Resources = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Outcome:
    """How an operation on a stack ended."""

    status: str
    outputs: dict[str, str]
    ids: dict[str, str]
    """Physical ids by logical id."""
    reasons: str
    """Why resources failed, and what was refused before anything was created."""


class Stacks:
    """One embedded AWS and its stacks."""

    def __init__(self, clients: Clients) -> None:
        self.clients = clients
        self._api = clients.service("cloudformation")

    def deploy(self, name: str, resources: Resources, **outputs: Any) -> Outcome:
        """Create a stack, or update the one of this name, and wait for its end."""
        document = {
            "Resources": resources,
            "Outputs": {key: {"Value": value} for key, value in outputs.items()},
        }
        return self.deploy_text(name, json.dumps(document))

    def deploy_text(self, name: str, body: str, **parameters: str) -> Outcome:
        """Create a stack of a template, or update the one of this name, and wait for its end."""
        names = [stack["StackName"] for stack in self._api.describe_stacks()["Stacks"]]
        operation = self._api.update_stack if name in names else self._api.create_stack
        given = [
            {"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()
        ]
        try:
            stack_id = operation(StackName=name, TemplateBody=body, Parameters=given)["StackId"]
        except ClientError as error:
            return Outcome("REFUSED", {}, {}, error.response["Error"]["Message"])
        return self.outcome(stack_id)

    def delete(self, name: str) -> Outcome:
        """Delete a stack and wait for its end."""
        stack_id = self._api.describe_stacks(StackName=name)["Stacks"][0]["StackId"]
        self._api.delete_stack(StackName=name)
        return self.outcome(stack_id)

    def outcome(self, stack_id: str) -> Outcome:
        """Return how what is done to a stack ended, when it has."""
        while True:
            (stack,) = self._api.describe_stacks(StackName=stack_id)["Stacks"]
            if not stack["StackStatus"].endswith("_IN_PROGRESS"):
                break
            time.sleep(0.05)
        events = self._api.describe_stack_events(StackName=stack_id)["StackEvents"]
        resources = self._api.describe_stack_resources(StackName=stack_id)["StackResources"]
        return Outcome(
            status=stack["StackStatus"],
            outputs={o["OutputKey"]: o["OutputValue"] for o in stack.get("Outputs", [])},
            ids={r["LogicalResourceId"]: r.get("PhysicalResourceId", "") for r in resources},
            reasons="\n".join(
                event["ResourceStatusReason"]
                for event in events
                if event["ResourceStatus"].endswith("_FAILED") and "ResourceStatusReason" in event
            ),
        )


def running_stacks() -> Iterator[Stacks]:
    """Yield the stacks of an embedded AWS that ends with the generator; for module fixtures."""
    with EmbeddedAws(account=ACCOUNT, region=REGION) as aws:
        aws.start(CloudOnlyPlatform())
        yield Stacks(aws.clients())


def resource(kind: str, *, depends_on: str | None = None, **properties: Any) -> dict[str, Any]:
    """Return a resource for a template; `kind` is its type without `AWS::`."""
    dependency = {"DependsOn": depends_on} if depends_on else {}
    return {"Type": f"AWS::{kind}", "Properties": properties, **dependency}


def ref(name: str) -> dict[str, str]:
    """Refer to a resource."""
    return {"Ref": name}


def att(name: str, attribute: str) -> dict[str, list[str]]:
    """Refer to an attribute of a resource."""
    return {"Fn::GetAtt": [name, attribute]}
