"""Rules for the Region and the zone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.model.catalog import HYPERPOD_REGIONS
from slurmpod.model.suggestion import did_you_mean
from slurmpod.rules.registry import Area, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved

REGION = Area("REG", "Region and zone")


@REGION.rule(
    "REG-001",
    "The Region has SageMaker HyperPod",
    why="CreateCluster exists in some Regions only. Elsewhere the network and the file system are "
    "created and paid for before the cluster fails.",
    fix="choose a Region with HyperPod; where AWS has added one since, add it to HYPERPOD_REGIONS",
    source="https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod.html",
)
def _region_has_hyperpod(environment: Environment, _: Resolved) -> Iterator[Finding]:
    region = environment.region
    if region not in HYPERPOD_REGIONS:
        guess = did_you_mean(region, HYPERPOD_REGIONS)
        fix = " ".join(
            filter(None, (guess, f"HyperPod is in {', '.join(sorted(HYPERPOD_REGIONS))}"))
        )
        yield Finding(("region",), f"there is no SageMaker HyperPod in '{region}'", fix)


@REGION.rule(
    "REG-002",
    "The zone lies in the Region",
    why="Subnets, nodes and the file system are created in this zone by a stack of this Region.",
    fix="write a zone of the Region",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-regions-availability-zones.html",
)
def _zone_lies_in_region(environment: Environment, _: Resolved) -> Iterator[Finding]:
    zone, region = environment.network.zone, environment.region
    if zone[:-1] != region:
        yield Finding(
            ("network", "zone"),
            f"the zone '{zone}' does not lie in {region}",
            f"write a zone of the Region, such as {region}{zone[-1]}; it must have your capacity",
        )
