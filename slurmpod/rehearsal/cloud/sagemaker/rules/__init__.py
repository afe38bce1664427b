"""What CreateCluster and UpdateCluster refuse beyond their model's constraints. Pure.

Sources: the HyperPod pages of the SageMaker developer guide and the API reference. Where they
quote the service its words are used; the rest is worded here. What only shows on the nodes (a
missing script, a provisioning_parameters.json that disagrees) is found by the platform, as on AWS.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.sagemaker.rules.cluster import cluster_rules
from slurmpod.rehearsal.cloud.sagemaker.rules.groups import group_rules
from slurmpod.rehearsal.cloud.sagemaker.rules.lifecycle import lifecycle_rules
from slurmpod.rehearsal.cloud.sagemaker.rules.provisioning import provisioning_rules
from slurmpod.rehearsal.cloud.sagemaker.rules.slurm import slurm_rules
from slurmpod.rehearsal.cloud.sagemaker.rules.storage import storage_rules

if TYPE_CHECKING:
    from collections.abc import Mapping


def refusals(request: Mapping[str, Any]) -> list[str]:
    """Return every reason for which CreateCluster refuses the request."""
    groups = list(request.get("InstanceGroups") or [])
    return [
        *cluster_rules(request),
        *(text for group in groups for text in group_rules(group)),
        *(text for group in groups for text in lifecycle_rules(group)),
        *storage_rules(request),
        *slurm_rules(request),
        *provisioning_rules(request),
    ]
