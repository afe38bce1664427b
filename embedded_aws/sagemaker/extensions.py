"""Extensions of clusters: software that HyperPod installs on all nodes. Here nothing is installed.

Source: API reference, CreateClusterExtension and related operations, whose examples have name and
version; developer guide, "Observability extension configuration", for the settings: unknown ones
are refused, and omitted ones get their defaults. The contents of `grafana` are not checked.
"""

from __future__ import annotations

import json
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from embedded_aws.cluster import RUNNING, Cluster
from embedded_aws.errors import ServiceError
from embedded_aws.ids import ids
from embedded_aws.sagemaker.clusters import Clusters
from embedded_aws.sagemaker.describe import Entry, list_page

Shape = dict[str, Any]

_OFFERED = {"sagemaker-observability": ("1.0.0",)}
"""Available versions by name, highest first."""
_ID_LENGTH = 12

_METRICS = {
    "nodeMetrics": "BASIC",
    "acceleratedComputeMetrics": "BASIC",
    "networkMetrics": "ENABLED",
    "jobMetrics": "ENABLED",
    "clusterMetrics": "ENABLED",
    "ncclMetrics": "DISABLED",
}
"""The kinds of metrics with their default levels."""
_INTERVAL_SECONDS = 30
_KNOWN = {
    "prometheus": None,
    "metricsProvider": _METRICS,
    "profilesProvider": None,
    "grafana": None,
}


@dataclass
class Extension:
    """One extension of one cluster."""

    arn: str
    name: str
    version: str
    settings: dict[str, Any]
    token: str | None
    request: Mapping[str, Any]
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    modified_at: datetime = field(default_factory=lambda: datetime.now(UTC))


class Extensions:
    """The extensions of all clusters, by the cluster's ARN."""

    def __init__(self, clusters: Clusters) -> None:
        self._clusters = clusters
        self._installed: dict[str, list[Extension]] = {}

    def create(self, region: str, given: Mapping[str, Any]) -> Shape:
        """Answer CreateClusterExtension; the extension is active immediately."""
        cluster = self._clusters.find(region, given["ClusterArn"])
        with self._clusters.lock:
            installed = self._of(cluster)
            for known in installed:
                if known.token is not None and known.token == given.get("ClientToken"):
                    return _repeated(known, given)
            _check(cluster, installed, given)
            extension = _new(cluster, given)
            installed.append(extension)
        return {"ExtensionArn": extension.arn}

    def describe(self, region: str, given: Mapping[str, Any]) -> Shape:
        """Answer DescribeClusterExtension."""
        cluster, extension = self._find(region, given)
        running = sum(node.status == RUNNING for node in list(cluster.nodes))
        details = {
            "ClusterArn": cluster.arn,
            **_summary(extension),
            "ConfigurationValues": json.dumps(_with_defaults(extension.settings)),
            "LastModifiedTime": extension.modified_at,
        }
        return {
            "ExtensionDetails": details,
            "NodeSummary": {"TotalCount": running, "ActiveCount": running},
            "Health": {"Issues": []},
        }

    def summaries(self, region: str, given: Mapping[str, Any]) -> Shape:
        """Answer ListClusterExtensions."""
        cluster = self._clusters.find(region, given["ClusterArn"])
        entries = [
            Entry(extension.name, extension.created_at, _summary(extension))
            for extension in list(self._of(cluster))
        ]
        page, token = list_page(entries, given)
        return {"Extensions": page, "NextToken": token}

    def versions(self, region: str, given: Mapping[str, Any]) -> Shape:
        """Answer ListClusterExtensionVersions, with an empty list for an unknown name."""
        offered = _OFFERED.get(given["ExtensionName"], ())
        return {"ExtensionVersions": [{"ExtensionVersion": version} for version in offered]}

    def update(self, region: str, given: Mapping[str, Any]) -> Shape:
        """Answer UpdateClusterExtension; null resets a setting to its default."""
        _, extension = self._find(region, given)
        version = given.get("ExtensionVersion", extension.version)
        if version != extension.version:
            raise _refusal(f"Version {version} is not later than {extension.version}, or unknown")
        extension.settings = _merged(extension.settings, _settings(given))
        extension.modified_at = datetime.now(UTC)
        return {"ExtensionArn": extension.arn}

    def delete(self, region: str, given: Mapping[str, Any]) -> Shape:
        """Answer DeleteClusterExtension."""
        cluster, extension = self._find(region, given)
        self._of(cluster).remove(extension)
        return {"ExtensionArn": extension.arn}

    def _of(self, cluster: Cluster) -> list[Extension]:
        return self._installed.setdefault(cluster.arn, [])

    def _find(self, region: str, given: Mapping[str, Any]) -> tuple[Cluster, Extension]:
        cluster = self._clusters.find(region, given["ClusterArn"])
        for extension in self._of(cluster):
            if extension.arn == given["ExtensionArn"]:
                return cluster, extension
        raise ServiceError(
            "ResourceNotFound",
            f"Extension {given['ExtensionArn']} is not installed on cluster {cluster.name}",
        )


def _check(cluster: Cluster, installed: list[Extension], given: Mapping[str, Any]) -> None:
    name = given["ExtensionName"]
    if not cluster.settings.is_continuous:
        raise _refusal(
            "Extensions are only supported for clusters using Continuous as the "
            "NodeProvisioningMode"
        )
    if any(extension.name == name for extension in installed):
        raise ServiceError("ResourceInUse", f"Cluster {cluster.name} has extension {name} already")
    offered = _OFFERED.get(name, ())
    if given.get("ExtensionVersion", next(iter(offered), None)) not in offered:
        raise _refusal(f"Extension {name} is not offered in this version")


def _new(cluster: Cluster, given: Mapping[str, Any]) -> Extension:
    name = given["ExtensionName"]
    alphabet = string.ascii_lowercase + string.digits
    own = ids.text("extension", _ID_LENGTH, alphabet)
    prefix = cluster.arn.rpartition(":cluster/")[0]
    return Extension(
        arn=f"{prefix}:extension/sagemaker-{cluster.id}/{name}/{own}",
        name=name,
        version=given.get("ExtensionVersion", _OFFERED[name][0]),
        settings=_settings(given),
        token=given.get("ClientToken"),
        request=given,
    )


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        settings = json.loads(given.get("ConfigurationValues", "{}"))
    except ValueError:
        settings = None
    if not isinstance(settings, dict):
        raise _refusal("ConfigurationValues must be a JSON object")
    unknown = [*_unknown(settings, _KNOWN), *_unknown(settings.get("metricsProvider"), _METRICS)]
    if unknown:
        raise _refusal(f"ConfigurationValues has unknown settings: {', '.join(unknown)}")
    return settings


def _unknown(given: Any, known: Mapping[str, Any]) -> list[str]:
    return sorted(given.keys() - known.keys()) if isinstance(given, dict) else []


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with changes at every level; null resets a setting to its default."""
    merged = dict(old)
    for name, value in new.items():
        before = merged.get(name)
        are_groups = isinstance(before, dict) and isinstance(value, dict)
        merged[name] = _merged(before or {}, value) if are_groups else value
    return {name: value for name, value in merged.items() if value is not None}


def _with_defaults(settings: Mapping[str, Any]) -> dict[str, Any]:
    defaults = {
        "metricsProvider": {
            name: {"level": level, "collectionIntervalSeconds": _INTERVAL_SECONDS}
            for name, level in _METRICS.items()
        },
        "profilesProvider": {"hostProfiling": {"enabled": False}},
    }
    return _merged(defaults, settings)


def _repeated(known: Extension, given: Mapping[str, Any]) -> Shape:
    if known.request != given:
        raise _refusal("The client token was used with other parameters")
    return {"ExtensionArn": known.arn}


def _summary(extension: Extension) -> Shape:
    return {
        "ExtensionArn": extension.arn,
        "ExtensionName": extension.name,
        "ExtensionVersion": extension.version,
        "Status": "Active",
        "CreationTime": extension.created_at,
    }


def _refusal(message: str) -> ServiceError:
    return ServiceError("ValidationException", message)
