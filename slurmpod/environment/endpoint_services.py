"""The AWS services that have interface endpoints, by their short names (`ecr.api`)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

SERVICES_WITHOUT_POLICIES = frozenset(
    {
        "appmesh-envoy-management",
        "appstream.api",
        "appstream.streaming",
        "cloudformation",
        "cloudtrail",
        "codeguru-profiler",
        "codeguru-reviewer",
        "codepipeline",
        "config",
        "datasync",
        "ebs",
        "ecs",
        "ecs-agent",
        "ecs-telemetry",
        "email-smtp",
        "glue",
        "iotsitewise.api",
        "iotsitewise.data",
        "servicecatalog",
        "sms",
        "storagegateway",
        "transfer",
        "transfer.server",
        "workspaces",
    }
)
"""Those of which the AWS PrivateLink guide said that their endpoints take no policy, in the last
version that was published as a repository (2022). AWS refuses an endpoint whose policy its service
does not know; some of these may know one by now."""


@cache
def interface_endpoint_services() -> frozenset[str]:
    """Return the names that follow `com.amazonaws.<region>.`, as the pinned aws-cdk-lib knows them.

    AWS adds services: good for warnings, never for errors.
    """
    file = Path(__file__).parents[1] / "data" / "interface_endpoint_services.txt"
    return frozenset(file.read_text(encoding="utf-8").split())
