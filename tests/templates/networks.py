"""Network stacks for tests: each variant synthesized once, without the other stacks."""

from __future__ import annotations

from functools import cache
from typing import Any

from aws_cdk import App, Tags

from slurmpod.environment.environment import Environment
from slurmpod.reading.read import Reading
from slurmpod.resolve import Resolved, resolve
from slurmpod_cdk.network.stack import ClusterNetwork, network_of
from tests.networks import VARIANTS
from tests.sound_environment import sound_data
from tests.templates.synthesis import CONTEXT, Template, of_type

NEW = [name for name in VARIANTS if "existing" not in VARIANTS[name]]

STORAGE = {
    "lustre": {"data_repositories": [{"path": "/data", "s3_uri": "s3://repository-bucket/train/"}]},
    "s3_mounts": [
        {"bucket": "read-bucket", "mount_path": "/read"},
        {"bucket": "write-bucket", "mount_path": "/write", "read_only": False},
    ],
}

IDENTITY = {
    "data_buckets": [
        {"bucket": "read-data", "prefix": "released/"},
        {"bucket": "written-data", "access": "write"},
    ]
}

SLURM: dict[str, Any] = {"records_backup": {}}


@cache
def network(name: str) -> tuple[Resolved, ClusterNetwork, App]:
    data = {
        **sound_data(),
        "network": VARIANTS[name],
        "storage": STORAGE,
        "identity": IDENTITY,
        "slurm": SLURM,
    }
    resolved = resolve(Reading(Environment.model_validate(data, strict=False)))
    app = App(context=CONTEXT)
    made = network_of(app, resolved)
    for key, value in resolved.tags.items():
        Tags.of(app).add(key, value)
    return resolved, made, app


@cache
def template(name: str) -> Template:
    (stack,) = network(name)[2].synth().stacks
    made: Template = stack.template
    return made


def properties(name: str, resource_type: str) -> list[dict[str, Any]]:
    return [each["Properties"] for each in of_type(template(name), resource_type).values()]


def endpoints(name: str, kind: str) -> dict[str, dict[str, Any]]:
    """Return the endpoints by the short name of their service."""
    found = properties(name, "AWS::EC2::VPCEndpoint")
    return {
        each["ServiceName"]["Fn::Join"][1][-1].lstrip("."): each
        for each in found
        if each["VpcEndpointType"] == kind
    }
