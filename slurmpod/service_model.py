"""The shapes of a CreateCluster request, from AWS's model of the SageMaker API.

`data/create_cluster_shape.json` holds them, so that offline rules need no SDK.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic_core import from_json

CREATE_CLUSTER = Path(__file__).parent / "data" / "create_cluster_shape.json"
CREATE_CLUSTER_INPUT = "CreateClusterRequest"


@cache
def create_cluster_shapes() -> Mapping[str, Any]:
    """Return the shapes that a CreateCluster request consists of."""
    shapes: dict[str, Any] = from_json(CREATE_CLUSTER.read_bytes())
    return shapes
