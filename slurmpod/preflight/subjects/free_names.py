"""Availability of names that are unique in an account: of the cluster and the database server."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.preflight.facts import Facts
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.preflight.subjects.clusters import CLUSTERS
from slurmpod.preflight.subjects.databases import DATABASES
from slurmpod.preflight.subjects.stacks import STACKS, will_be_made
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Finding


@PREFLIGHT.rule(
    "PRE-603",
    "The names are free",
    why="Names of clusters and database servers are unique in an account and Region.",
    fix="choose another name, or delete the resource",
    source="https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_CreateCluster.html",
)
def _names_are_free(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    if facts[STACKS] is None:
        return
    for cluster in facts[CLUSTERS] or ():
        if cluster.name == resolved.name and will_be_made(facts, resolved.stacks.cluster):
            message = (
                f"there is a cluster {cluster.name} ({cluster.status}) that slurmpod did not create"
            )
            yield Finding(("name",), message)
    new = resolved.database.new if resolved.database else None
    taken = new and new.identifier in (facts[DATABASES] or ())
    if new and taken and will_be_made(facts, resolved.stacks.database):
        yield Finding(("name",), f"there is already an RDS server {new.identifier}")
