"""Counts the nodes of a HyperPod cluster for CloudWatch, which has no such metric of its own.

Runs in AWS Lambda every five minutes, as it stands here: the template holds this file. CLUSTER_ARN
names the cluster, CLUSTER what the metrics call it, NAMESPACE where they go.
"""

from __future__ import annotations

import os
from typing import Any

import boto3


def handler(_event: object, _context: object) -> dict[str, int]:
    """Count once. What goes wrong shows as an error of the function, which an alarm watches."""
    sagemaker: Any = boto3.client("sagemaker")
    cluster = os.environ["CLUSTER_ARN"]
    groups = sagemaker.describe_cluster(ClusterName=cluster)["InstanceGroups"]
    pages = sagemaker.get_paginator("list_cluster_nodes").paginate(ClusterName=cluster)
    nodes = [node for page in pages for node in page["ClusterNodeSummaries"]]
    counted = count(groups, nodes)
    _publish(counted)
    return counted


def count(groups: list[dict[str, Any]], nodes: list[dict[str, Any]]) -> dict[str, int]:
    """Return the metrics. A node is in service when it runs; one that is checked is not yet."""
    statuses = [node["InstanceStatus"]["Status"] for node in nodes]
    wanted = sum(group["TargetCount"] for group in groups)
    in_service = statuses.count("Running")
    return {
        "NodesWanted": wanted,
        "NodesInService": in_service,
        "NodesMissing": max(wanted - in_service, 0),
        "NodesFailed": statuses.count("Failure"),
    }


def _publish(metrics: dict[str, int]) -> None:
    cloudwatch: Any = boto3.client("cloudwatch")
    dimensions = [{"Name": "Cluster", "Value": os.environ["CLUSTER"]}]
    cloudwatch.put_metric_data(
        Namespace=os.environ["NAMESPACE"],
        MetricData=[
            {"MetricName": name, "Dimensions": dimensions, "Value": value, "Unit": "Count"}
            for name, value in metrics.items()
        ],
    )
