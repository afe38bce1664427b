"""The availability zone of a subnet: moto takes those of any region, EC2 only its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.rehearsal.cloud.resources.provider import ProviderError

if TYPE_CHECKING:
    from slurmpod.rehearsal.cloud.resources.provider import ResourceRequest


def zone_name(request: ResourceRequest) -> str:
    """Return the name of the zone that the properties give by name or id, else the region's first.

    Raises ProviderError, with EC2's words, for a zone that the region does not have.
    """
    zones = request.aws.ec2.describe_availability_zones()["AvailabilityZones"]
    by_name = {zone["ZoneName"]: zone["ZoneName"] for zone in zones}
    by_id = {zone["ZoneId"]: zone["ZoneName"] for zone in zones}
    given = request.given("AvailabilityZone", "AvailabilityZoneId")
    if len(given) > 1:
        raise ProviderError("AvailabilityZone and AvailabilityZoneId cannot be given together")
    for name, wanted in given.items():
        known = by_name if name == "AvailabilityZone" else by_id
        if wanted not in known:
            raise ProviderError(
                f"Value ({wanted}) for parameter a{name[1:]} is invalid. Subnets can currently "
                f"only be created in the following availability zones: {', '.join(sorted(known))}."
            )
        return known[wanted]
    return min(by_name)
