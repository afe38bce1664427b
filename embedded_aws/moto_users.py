"""Patches of moto's IAM: permissions boundaries of users, which moto supports for roles only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from embedded_aws.moto_network import wrap


def patch_users() -> None:
    """Apply the patches; idempotent."""
    from moto.core.serialize import never_return
    from moto.iam.models import Role, User
    from moto.iam.responses import IamResponse

    User.permissions_boundary_arn = None  # type: ignore[attr-defined]
    User.permissions_boundary = Role.permissions_boundary  # type: ignore[attr-defined]
    wrap(IamResponse, "create_user", _create_user)
    IamResponse.put_user_permissions_boundary = _bound  # type: ignore[attr-defined]
    IamResponse.delete_user_permissions_boundary = _unbound  # type: ignore[attr-defined]
    listed = "ListUsersResponse.Users.User.PermissionsBoundary"
    IamResponse.RESPONSE_KEY_PATH_TO_TRANSFORMER[listed] = never_return


def _create_user(original: Callable[..., Any], response: Any) -> Any:
    """Create a user with its boundary; fails if the policy does not exist."""
    boundary = response._get_param("PermissionsBoundary")  # noqa: SLF001
    if boundary:
        response.backend.get_policy(boundary)
    created = original(response)
    _user(response).permissions_boundary_arn = boundary
    return created


def _bound(response: Any) -> Any:
    """Answer PutUserPermissionsBoundary; raises moto's NoSuchEntity."""
    boundary = response._get_param("PermissionsBoundary")  # noqa: SLF001
    response.backend.get_policy(boundary)
    return _with_boundary(response, boundary)


def _unbound(response: Any) -> Any:
    """Answer DeleteUserPermissionsBoundary; raises moto's NoSuchEntity."""
    return _with_boundary(response, None)


def _with_boundary(response: Any, boundary: str | None) -> Any:
    from moto.core.responses import EmptyResult

    _user(response).permissions_boundary_arn = boundary
    return EmptyResult()


def _user(response: Any) -> Any:
    return response.backend.get_user(response._get_param("UserName"))  # noqa: SLF001
