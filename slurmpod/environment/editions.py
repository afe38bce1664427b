"""Editions of environment files: the defaults of omitted fields.

AWS's recommendations for new clusters change, while the files of existing clusters stay. Defaults
therefore change only with a new edition: a file that names none has the defaults of the first one.
"""

from __future__ import annotations

from typing import Final, Literal

from slurmpod.environment.cluster import Cluster
from slurmpod.environment.lifecycle import Lifecycle
from slurmpod.problems import YamlPath

Edition = Literal[2024, 2026]

FIRST: Final[Edition] = 2024
NEWEST: Final[Edition] = 2026

MODE: Final = ("lifecycle", "mode")
PROVISIONING: Final = ("cluster", "provisioning")
CHOSEN: Final[tuple[YamlPath, ...]] = (MODE, PROVISIONING)
"""The fields whose defaults depend on the edition."""


def with_defaults(
    edition: Edition, lifecycle: Lifecycle, cluster: Cluster
) -> tuple[Lifecycle, Cluster]:
    """Return the sections with missing values set to an edition's defaults.

    Continuous provisioning needs a Slurm that HyperPod configures: in customer mode the default
    stays the standard one.
    """
    if edition == FIRST:
        return lifecycle, cluster
    if MODE[-1] not in lifecycle.model_fields_set:
        lifecycle = lifecycle.model_copy(update={MODE[-1]: "extended"})
    if PROVISIONING[-1] not in cluster.model_fields_set and lifecycle.mode != "customer":
        cluster = cluster.model_copy(update={PROVISIONING[-1]: "continuous"})
    return lifecycle, cluster


def newer_defaults(lifecycle: Lifecycle, cluster: Cluster) -> dict[YamlPath, str]:
    """Return the newest edition's changes of sections with the first one's defaults."""
    newer_lifecycle, newer_cluster = with_defaults(NEWEST, lifecycle, cluster)
    values = {
        MODE: (lifecycle.mode, newer_lifecycle.mode),
        PROVISIONING: (cluster.provisioning, newer_cluster.provisioning),
    }
    return {path: new for path, (old, new) in values.items() if new != old}
