"""Models and real-time endpoints: stored, described and in service immediately; nothing is served.

Source: API reference, CreateModel, CreateEndpointConfig, CreateEndpoint, UpdateEndpoint and
related operations; developer guide, "Update endpoints that use auto scaling".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from embedded_aws.clients import Clients
from embedded_aws.errors import ServiceError
from embedded_aws.sagemaker.model_access import refuse_unreachable
from embedded_aws.sagemaker.records import Record, Records, now
from embedded_aws.wire import Operation

Shape = dict[str, Any]

IN_SERVICE = "InService"
INSTANCES = "sagemaker:variant:DesiredInstanceCount"


class Hosting:
    """The models, endpoint configurations and endpoints of all Regions."""

    def __init__(self, clients: Callable[[str], Clients]) -> None:
        self._clients = clients
        self._models = Records(clients, noun="model", kind="model", name_of="ModelName")
        self._configurations = Records(
            clients,
            noun="endpoint configuration",
            kind="endpoint-config",
            name_of="EndpointConfigName",
        )
        self._endpoints = Records(clients, noun="endpoint", kind="endpoint", name_of="EndpointName")
        self.kinds = (self._models, self._configurations, self._endpoints)
        self.operations: Mapping[str, Operation] = {
            "CreateModel": self._create_model,
            "DescribeModel": lambda region, given: self._models.described(
                self._models.find(region, given["ModelName"])
            ),
            "ListModels": lambda region, given: self._models.page(region, given, "Models"),
            "DeleteModel": lambda region, given: self._forget(
                self._models, region, given["ModelName"]
            ),
            "CreateEndpointConfig": self._create_configuration,
            "DescribeEndpointConfig": lambda region, given: self._configurations.described(
                self._configurations.find(region, given["EndpointConfigName"])
            ),
            "ListEndpointConfigs": lambda region, given: self._configurations.page(
                region, given, "EndpointConfigs"
            ),
            "DeleteEndpointConfig": lambda region, given: self._forget(
                self._configurations, region, given["EndpointConfigName"]
            ),
            "CreateEndpoint": self._create_endpoint,
            "DescribeEndpoint": self._describe_endpoint,
            "ListEndpoints": lambda region, given: self._endpoints.page(
                region, given, "Endpoints", ("EndpointStatus",)
            ),
            "UpdateEndpoint": self._update_endpoint,
            "DeleteEndpoint": lambda region, given: self._forget(
                self._endpoints, region, given["EndpointName"]
            ),
        }

    def _forget(self, records: Records, region: str, name: str) -> None:
        records.remove(region, name)

    def _create_model(self, region: str, given: Mapping[str, Any]) -> Shape:
        refuse_unreachable(self._clients(region), region, given)
        return {"ModelArn": self._models.add(region, given).arn}

    def _create_configuration(self, region: str, given: Mapping[str, Any]) -> Shape:
        for variant in given["ProductionVariants"]:
            self._models.find(region, variant["ModelName"])
        return {"EndpointConfigArn": self._configurations.add(region, given).arn}

    def _create_endpoint(self, region: str, given: Mapping[str, Any]) -> Shape:
        configuration = self._configurations.find(region, given["EndpointConfigName"])
        endpoint = self._endpoints.add(region, given)
        endpoint.own = {"EndpointStatus": IN_SERVICE, "ProductionVariants": _serving(configuration)}
        return {"EndpointArn": endpoint.arn}

    def _describe_endpoint(self, region: str, given: Mapping[str, Any]) -> Shape:
        return self._endpoints.described(self._endpoints.find(region, given["EndpointName"]))

    def _update_endpoint(self, region: str, given: Mapping[str, Any]) -> Shape:
        endpoint = self._endpoints.find(region, given["EndpointName"])
        wanted = self._configurations.find(region, given["EndpointConfigName"])
        self._refuse_other_types(region, endpoint, wanted)
        serving = _serving(wanted)
        if given.get("RetainAllVariantProperties"):
            serving = _retained(serving, endpoint.own["ProductionVariants"])
        endpoint.given["EndpointConfigName"] = wanted.name
        endpoint.own["ProductionVariants"] = serving
        endpoint.modified_at = now()
        return {"EndpointArn": endpoint.arn}

    def _refuse_other_types(self, region: str, endpoint: Record, wanted: Record) -> None:
        """Refuse to change the instance type of an automatically scaled variant."""
        before = self._types_of(region, endpoint)
        for name, instance_type in _types(wanted).items():
            if before.get(name, instance_type) == instance_type:
                continue
            resource = f"endpoint/{endpoint.name}/variant/{name}"
            scaling = self._clients(region).service("application-autoscaling")
            found = scaling.describe_scalable_targets(
                ServiceNamespace="sagemaker", ResourceIds=[resource], ScalableDimension=INSTANCES
            )
            if found["ScalableTargets"]:
                raise ServiceError(
                    "ValidationException",
                    f'The variant(s) "[{name}]" must be deregistered as scalable targets with '
                    "AWS Auto Scaling before they can be removed or have their instance type "
                    "updated.",
                )

    def _types_of(self, region: str, endpoint: Record) -> dict[str, str]:
        """Return the instance types of an endpoint; empty if its configuration is deleted."""
        try:
            return _types(self._configurations.find(region, endpoint.given["EndpointConfigName"]))
        except ServiceError:
            return {}


def _types(configuration: Record) -> dict[str, str]:
    variants = configuration.given["ProductionVariants"]
    return {each["VariantName"]: each.get("InstanceType", "") for each in variants}


def _serving(configuration: Record) -> list[Shape]:
    return [
        {
            "VariantName": each["VariantName"],
            "CurrentWeight": each.get("InitialVariantWeight", 1.0),
            "DesiredWeight": each.get("InitialVariantWeight", 1.0),
            "CurrentInstanceCount": each.get("InitialInstanceCount", 1),
            "DesiredInstanceCount": each.get("InitialInstanceCount", 1),
        }
        for each in configuration.given["ProductionVariants"]
    ]


def _retained(serving: list[Shape], before: list[Shape]) -> list[Shape]:
    """Return variants with their current instance count and weight."""
    known = {each["VariantName"]: each for each in before}
    return [known.get(each["VariantName"], each) for each in serving]
