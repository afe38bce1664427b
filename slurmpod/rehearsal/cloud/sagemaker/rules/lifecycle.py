"""Rules for a group's LifeCycleConfig: left out, or one script and where it lies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_BUCKET_PREFIX = "s3://sagemaker-"


def lifecycle_rules(group: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a group's LifeCycleConfig, if it has one."""
    if "LifeCycleConfig" not in group:
        return
    name, lifecycle = group["InstanceGroupName"], group["LifeCycleConfig"]
    scripts = lifecycle.keys() & {"OnCreate", "OnInitComplete"}
    source = lifecycle.get("SourceS3Uri")
    if not lifecycle:
        yield f"LifeCycleConfig for instance group {name} is provided but contains no configuration"
    elif not source or not scripts:
        yield (
            f"LifeCycleConfig for instance group {name} is incomplete: SourceS3Uri and one of "
            "OnCreate and OnInitComplete belong together"
        )
    if len(scripts) > 1:
        yield (
            "OnCreate and OnInitComplete in LifeCycleConfig are mutually exclusive "
            f"(instance group {name})"
        )
    if source and not source.startswith(_BUCKET_PREFIX):
        yield f"SourceS3Uri of instance group {name} must start with {_BUCKET_PREFIX}, not {source}"
