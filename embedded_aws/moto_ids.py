"""Patches of moto, so that its ids come from `ids`: derived from the seed, or chosen.

All of moto draws from one random number generator. It is seeded again for every request, from the
operation and the number of its calls, so that neither polling nor concurrent requests change the
ids of created resources. Resources that services create at first use, such as the default VPC, have
ids derived from the seed alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

from embedded_aws.calls import body_of
from embedded_aws.ids import IMAGE, KEY, ROUTE_TABLE, SECRET, SECURITY_GROUP, SUBNET, VPC, ids
from embedded_aws.moto_network import wrap

_GENERATORS = (
    (VPC, "moto.ec2.models.vpcs", "random_vpc_id"),
    (SUBNET, "moto.ec2.models.subnets", "random_subnet_id"),
    (SECURITY_GROUP, "moto.ec2.models.security_groups", "random_security_group_id"),
    (ROUTE_TABLE, "moto.ec2.models.route_tables", "random_route_table_id"),
    (IMAGE, "moto.ec2.models.amis", "random_ami_id"),
    (KEY, "moto.kms.models", "generate_key_id"),
)
"""By kind of id, the module that uses the generator and the generator's name."""

_ACTION = re.compile(rb"(?:^|&)Action=(\w+)")


def patch_ids() -> None:
    """Apply the patches; idempotent."""
    from moto.ec2.models import EC2Backend
    from moto.iam.models import IAMBackend
    from moto.secretsmanager.utils import SecretsManagerSecretIdentifier

    for kind, module, name in _GENERATORS:
        original = getattr(import_module(module), name)
        chooses = _choosable(kind, getattr(original, "__wrapped__", original))
        setattr(import_module(module), name, chooses)
    wrap(SecretsManagerSecretIdentifier, "generate", _secret_arn)
    for backend in (EC2Backend, IAMBackend):
        wrap(backend, "__init__", _begin)


def seed_request(service: str, environ: dict[str, Any]) -> None:
    """Seed moto's generator for the request that it answers next."""
    from moto.moto_api._internal import mock_random

    mock_random.seed(ids.next_seed(f"{service} {_operation(environ)}"))


def _operation(environ: dict[str, Any]) -> str:
    """Return what identifies an operation: a header, a form's action, or the path."""
    target = environ.get("HTTP_X_AMZ_TARGET")
    if target:
        return str(target)
    if str(environ.get("CONTENT_TYPE")).startswith("application/x-www-form-urlencoded"):
        action = _ACTION.search(body_of(environ))
        if action:
            return action[1].decode()
    return f"{environ['REQUEST_METHOD']} {environ.get('PATH_INFO')}"


def _choosable(kind: str, original: Callable[..., str]) -> Callable[..., str]:
    @wraps(original)
    def generate(*args: Any, **kwargs: Any) -> str:
        return ids.chosen(kind) or original(*args, **kwargs)

    return generate


def _secret_arn(original: Callable[..., str], identifier: Any, *args: Any, **kwargs: Any) -> str:
    return ids.chosen(SECRET) or original(identifier, *args, **kwargs)


def _begin(original: Callable[..., None], backend: Any, region: str, account_id: str) -> None:
    """Create a service of a Region without changing the generator's state."""
    from moto.moto_api._internal import mock_random

    state = mock_random.getstate()
    mock_random.seed(ids.seed_of(f"{type(backend).__name__} {region}"))
    original(backend, region, account_id)
    mock_random.setstate(state)
