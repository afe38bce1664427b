"""An environment with all values written out: the same for all spellings.

An empty field has its computed value, the file of users is replaced by its users, and any other
file by its content.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slurmpod.deployment_record import people
from slurmpod.resolve import Resolved, ResolvedNetwork

CONSEQUENCES = (
    ("network", "private_subnet_cidr"),
    ("network", "other_zones", "private_subnet_cidr"),
    ("access", "users"),
    ("lifecycle", "scripts"),
    ("lifecycle", "hooks"),
    ("identity", "existing", "policy_files"),
    ("identity", "permissions_boundary", "policy_file"),
)
"""Fields and sections that are reported even if their spelling is unchanged: contents of files, and
subnets, which must not move. Other consequences of changed fields are not reported.
"""


def written_out(resolved: Resolved) -> dict[str, Any]:
    """Return the environment with every missing value computed."""
    data = resolved.environment.model_dump(mode="json")
    _network(data["network"], resolved.network)
    for group, known in zip(data["cluster"]["groups"], resolved.groups, strict=True):
        group["zone"] = known.zone
        if known.facts and len(known.instance_types) == 1:  # else EC2 decides, as in the request
            group["threads_per_core"] = known.threads_per_core
    _storage(data["storage"], resolved)
    if resolved.database and resolved.database.new:
        data["slurm"]["rds"]["max_storage_gib"] = resolved.database.new.max_storage_gib
    data["lifecycle"]["entry_script"] = resolved.lifecycle.entry_script
    data["access"] |= {
        "home_directory": resolved.access.home_directory,
        "user_groups": list(resolved.access.session_groups),
    }
    if existing := data["identity"]["existing"]:
        roles = ("login", "worker")
        existing |= {role: existing[role] or existing["controller"] for role in roles}
    return data


def written_out_with_files(resolved: Resolved, in_files: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of an environment and its files, in the form of an environment."""
    data = written_out(resolved)
    data["access"]["users"] = people(resolved)
    return _with(data, in_files)


def _network(data: dict[str, Any], network: ResolvedNetwork) -> None:
    data["interface_endpoints"] = list(network.interface_endpoints)
    if network.existing:
        return
    ranges = {subnet.zone: str(subnet.cidr) for subnet in network.private}
    data["vpc_cidr"] = str(network.vpc_cidr)
    data["private_subnet_cidr"] = ranges[network.zone]
    data["nat"] = (data["nat"] or "one") if network.nat_gateways else "none"
    for other in data["other_zones"]:
        other["private_subnet_cidr"] = ranges[other["zone"]]


def _storage(data: dict[str, Any], resolved: Resolved) -> None:
    file_systems = [data["lustre"]] if data["lustre"] else []
    file_systems += data["additional_lustre"]
    for each, lustre in zip(file_systems, resolved.lustre, strict=True):
        each |= {
            "throughput_mbps_per_tib": lustre.throughput_mbps_per_tib,
            "throughput_mbps": lustre.throughput_mbps,
            "metadata_iops": lustre.metadata_iops,
        }
    if resolved.openzfs:
        data["openzfs"]["throughput_mbps"] = resolved.openzfs.throughput_mbps


def _with(data: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return `data` with its values replaced by those of `more`, section by section."""
    replaced = {
        key: _with(data[key], value) if isinstance(value, dict) else value
        for key, value in more.items()
    }
    return {**data, **replaced}
