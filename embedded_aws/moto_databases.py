"""Patches of moto's RDS, so that database servers behave as on AWS.

- A server has a network interface in a subnet of its group, which blocks the deletion of subnet and
  security groups and has the address of a rehearsal's MariaDB. Groups in use cannot be deleted.
- A subnet group covers two zones. A modified one is kept.
- Storage never shrinks, and its limit leaves room to grow.
- RDS generates every password, for the requested user, from RDS's character set; a rotation
  replaces it at once.
"""

from __future__ import annotations

import json
import secrets
import string
from collections.abc import Callable
from typing import Any

from embedded_aws.moto_network import wrap

INTERFACE_DESCRIPTION = "RDSNetworkInterface"
"""The requester that EC2 shows for the interfaces of RDS."""

_ZONES = 2
_LEAST_GROWTH = 1.1
_PASSWORD_LENGTH = 28
_PASSWORD_CHARACTERS = "".join(
    c for c in string.ascii_letters + string.digits + string.punctuation if c not in "/'\"@"
)
"""Printable ASCII except four (RDS API reference, CreateDBInstance, MasterUserPassword)."""


def patch_databases() -> None:
    """Apply the patches; idempotent."""
    from moto.rds.models import MasterUserSecret, RDSBackend

    MasterUserSecret._generate_secret_string = _secret_string  # type: ignore[assignment,method-assign]  # noqa: SLF001
    wrap(MasterUserSecret, "rotate_secret", _rotate)
    wrap(RDSBackend, "create_db_instance", _create)
    wrap(RDSBackend, "modify_db_instance", _modify)
    wrap(RDSBackend, "delete_db_instance", _delete)
    wrap(RDSBackend, "create_subnet_group", _create_subnet_group)
    wrap(RDSBackend, "modify_db_subnet_group", _modify_subnet_group)
    wrap(RDSBackend, "delete_subnet_group", _delete_subnet_group)
    wrap(RDSBackend, "delete_db_parameter_group", _delete_parameter_group)


def _secret_string(secret: Any) -> str:
    password = "".join(secrets.choice(_PASSWORD_CHARACTERS) for _ in range(_PASSWORD_LENGTH))
    return json.dumps({"username": secret.resource.master_username, "password": password})


def _rotate(original: Callable[..., Any], secret: Any) -> None:
    original(secret)
    secret.secretsmanager.put_secret_value(
        secret.secret.arn, _secret_string(secret), "", secrets.token_hex(16), ["AWSCURRENT"]
    )


def _create(original: Callable[..., Any], rds: Any, db_kwargs: dict[str, Any]) -> Any:
    _check_growth(db_kwargs.get("allocated_storage"), db_kwargs.get("max_allocated_storage"))
    database = original(rds, db_kwargs)
    group = _subnet_group(database)
    if group is not None:
        subnet = group._subnets[0]  # noqa: SLF001
        database.network_interface = _ec2(rds).create_network_interface(
            subnet, "", None, database.vpc_security_group_ids, description=INTERFACE_DESCRIPTION
        )
    return database


def _modify(
    original: Callable[..., Any], rds: Any, db_instance_identifier: str, db_kwargs: dict[str, Any]
) -> Any:
    (database,) = rds.describe_db_instances(db_instance_identifier)
    wanted = db_kwargs.get("allocated_storage") or database.allocated_storage
    if wanted < database.allocated_storage:
        _refuse(f"Invalid storage size for engine name {database.engine}: it cannot shrink")
    limit = db_kwargs.get("max_allocated_storage") or database.max_allocated_storage
    _check_growth(wanted, limit if limit != database.allocated_storage else None)
    return original(rds, db_instance_identifier, db_kwargs)


def _delete(original: Callable[..., Any], rds: Any, *args: Any, **kwargs: Any) -> Any:
    database = original(rds, *args, **kwargs)
    interface = getattr(database, "network_interface", None)
    if interface is not None:
        _ec2(rds).delete_network_interface(interface.id)
    return database


def _create_subnet_group(
    original: Callable[..., Any], rds: Any, name: str, about: str, subnets: list[Any], *args: Any
) -> Any:
    _check_zones(subnets)
    return original(rds, name, about, subnets, *args)


def _modify_subnet_group(
    original: Callable[..., Any], rds: Any, name: str, about: str, subnets: list[Any]
) -> Any:
    _check_zones(subnets)
    group = original(rds, name, about, subnets)
    rds.subnet_groups[name] = group
    return group


def _delete_subnet_group(original: Callable[..., Any], rds: Any, name: str) -> Any:
    groups = [_subnet_group(database) for database in rds.databases.values()]
    if any(group is not None and group.name == name for group in groups):
        _refuse(
            f"Cannot delete the subnet group '{name}' because at least one database instance is "
            "still using it.",
            "InvalidDBSubnetGroupStateFault",
        )
    return original(rds, name)


def _delete_parameter_group(original: Callable[..., Any], rds: Any, name: str) -> Any:
    if any(database.db_parameter_group_name == name for database in rds.databases.values()):
        _refuse(
            "One or more database instances are still members of this parameter group "
            f"{name}, so the group cannot be deleted",
            "InvalidDBParameterGroupState",
        )
    return original(rds, name)


def _subnet_group(database: Any) -> Any:
    return getattr(database, "db_subnet_group", None)


def _check_zones(subnets: list[Any]) -> None:
    zones = sorted({subnet.availability_zone for subnet in subnets})
    if len(zones) < _ZONES:
        _refuse(
            "The DB subnet group doesn't meet Availability Zone (AZ) coverage requirement. Current "
            f"AZ coverage: {', '.join(zones)}. Add subnets to cover at least {_ZONES} AZs.",
            "DBSubnetGroupDoesNotCoverEnoughAZs",
        )


def _check_growth(storage: int | None, limit: int | None) -> None:
    if storage and limit and limit < storage * _LEAST_GROWTH:
        _refuse("Max storage size must be at least 10% greater than the current storage size")


def _refuse(message: str, code: str = "InvalidParameterCombination") -> None:
    from moto.rds.exceptions import RDSClientError

    raise RDSClientError(code, message)


def _ec2(rds: Any) -> Any:
    from moto.ec2.models import ec2_backends

    return ec2_backends[rds.account_id][rds.region_name]
