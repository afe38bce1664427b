"""Clusters of real nodes to measure: with our lifecycle scripts, or with Slurm only."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

from slurmpod.operations.lifecycle import MARK
from slurmpod.reading.read import read_as
from slurmpod.rehearsal.shell import Shell
from slurmpod.resolve import resolve
from tests.nodes.deployed_bundle import deployed_bundle
from tests.nodes.hyperpod_lab import ROLE, HyperPodLab

ENVIRONMENT = """
name: bench
account: "123456789012"
region: us-west-2
network: {{zone: us-west-2a}}
cluster:
  groups:
    - {{name: head, role: controller, instance_type: ml.m5.large}}
    - {{name: cpu, role: worker, instance_type: ml.m5.large, count: {workers}, partition: cpu}}
"""
"""An environment with every option at its default."""

START_SLURM = """\
#!/bin/bash
set -e
controller=$(sed -n '/"head"/,/]/s/.*"CustomerIpAddress": *"\\([0-9.]*\\)".*/\\1/p' \\
    /opt/ml/config/resource_config.json | head -n 1)
if hostname --all-ip-addresses | grep --quiet --word-regexp --fixed-strings "$controller"; then
    until grep --quiet ^PartitionName= /opt/slurm/etc/slurm.conf 2>/dev/null; do sleep 0.1; done
    systemctl enable --quiet --now slurmctld
else
    echo "SLURMD_OPTIONS=--conf-server=$controller:6817" >/opt/slurm/etc/default/slurmd
    until systemctl enable --quiet --now slurmd; do sleep 0.5; done
fi
"""
"""A script that does the minimum for Slurm."""

PARAMETERS = "provisioning_parameters.json"


def our_scripts(lab: HyperPodLab, workers: int) -> Mapping[str, str]:
    """Return the bundle of an environment without options, completed as by a deployment."""
    return deployed_bundle(lab, resolve(read_as("bench.yaml", ENVIRONMENT.format(workers=workers))))


def bare_slurm(lab: HyperPodLab, workers: int) -> Mapping[str, str]:
    """Return scripts that start Slurm on the same cluster."""
    parameters = our_scripts(lab, workers)[PARAMETERS]
    return {"on_create.sh": START_SLURM, PARAMETERS: parameters}


def upload(lab: HyperPodLab, files: Mapping[str, str]) -> str:
    """Put scripts where new nodes find them, and return their URI."""
    return lab.upload(f"scripts-{time.monotonic_ns()}", files)


def make(lab: HyperPodLab, workers: int, uri: str, **more: Any) -> str:
    """Create a cluster, wait until all its workers are idle, and return its name."""
    name = f"bench-{time.monotonic_ns()}"
    cluster = lab.create(name, [_group("head", uri, 1), _group("cpu", uri, workers)], **more)
    if cluster.get("FailureMessage"):
        raise SystemExit(cluster["FailureMessage"])
    head = lab.shell(name, "head")
    while _states(head) != ["idle", str(workers)]:
        time.sleep(0.1)
    return name


def reports(lab: HyperPodLab, name: str) -> Iterator[Any]:
    """Yield the reports that the nodes' scripts have left in CloudWatch Logs."""
    cluster_id = lab.aws.sagemaker.describe_cluster(ClusterName=name)["ClusterArn"][-12:]
    group = f"/aws/sagemaker/Clusters/{name}/{cluster_id}"
    pages = lab.aws.logs.get_paginator("describe_log_streams").paginate(logGroupName=group)
    for stream in (stream["logStreamName"] for page in pages for stream in page["logStreams"]):
        events = lab.aws.logs.get_log_events(
            logGroupName=group, logStreamName=stream, startFromHead=True
        )["events"]
        for message in (event["message"] for event in events):
            if message.startswith(f"{MARK} "):
                yield json.loads(message.removeprefix(f"{MARK} "))


def _states(head: Shell) -> list[str]:
    return head.run(["sinfo", "--noheader", "--partition=cpu", "--format=%T %D"]).split()


def _group(name: str, uri: str, count: int) -> dict[str, Any]:
    return {
        "InstanceGroupName": name,
        "InstanceType": "ml.m5.large",
        "InstanceCount": count,
        "ExecutionRole": ROLE,
        "LifeCycleConfig": {"SourceS3Uri": uri, "OnCreate": "on_create.sh"},
    }
