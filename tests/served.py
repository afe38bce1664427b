"""A small environment with an endpoint, for tests to change."""

from __future__ import annotations

from typing import Any

import yaml

from slurmpod.reading.read import read_as
from slurmpod.resolve import Resolved, resolve
from tests.sound_environment import sound_data

ENDPOINT: dict[str, Any] = {
    "instance_type": "ml.g4dn.xlarge",
    "image": "123456789012.dkr.ecr.us-west-2.amazonaws.com/gpt-j:1.0",
    "model_data": "s3://models/gpt-j/model.tar.gz",
    "parameters_millions": 6050,
}


def served_text(
    services: dict[str, Any] | None = None,
    monitoring: dict[str, Any] | None = None,
    *,
    closed: bool = False,
    **endpoint: Any,
) -> str:
    """Return the YAML of an environment whose endpoint also has these settings."""
    data = sound_data()
    data["network"]["other_zones"] = [{"zone": "us-west-2a"}]
    if closed:
        data["network"]["closed"] = True
    if monitoring is not None:
        data["monitoring"] = monitoring
    data["services"] = {"endpoint": ENDPOINT | endpoint} if services is None else services
    return yaml.safe_dump(data, sort_keys=False)


def served(*args: Any, **settings: Any) -> Resolved:
    """Return that environment, resolved."""
    read = read_as("dev.yaml", served_text(*args, **settings))
    assert read.environment is not None, read.problems
    return resolve(read)
