"""The `access` section for the steps that make users on nodes and in Slurm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slurmpod.bundle.slurm_values import slurm_accounts
from slurmpod.environment.access import User
from slurmpod.environment.directory import Directory
from slurmpod.resolve import Resolved
from slurmpod.resolve.slurm import NORMAL

LOCAL_HOMES = "/home"
"""Where homes are while nodes share nothing."""

Account = dict[str, Any]
"""An account as `slurm_values` writes it."""


def access_values(resolved: Resolved) -> dict[str, object]:
    """Return the `access` part of settings.json as plain data."""
    access = resolved.access
    users = [known.user for known in resolved.access.users]
    groups = [(known.group.name, known.group.gid) for known in access.groups]
    groups += [(user.name, user.uid) for user in users if user.group is None]
    accounts = slurm_accounts(resolved)
    homes = access.home_directory or LOCAL_HOMES
    return {
        "groups": [{"name": name, "gid": gid} for name, gid in sorted(groups)],
        "users": [_user(user, homes, accounts) for user in sorted(users, key=lambda u: u.name)],
        "home_directory": homes,
        "homes_shared": access.home_directory is not None,
        "directory": _directory(access.directory, resolved) if access.directory else None,
    }


def _user(user: User, homes: str, accounts: Sequence[Account]) -> dict[str, object]:
    mine = [each for each in accounts if not user.accounts or each["name"] in user.accounts]
    default = user.default_account or next(iter(user.accounts), None)
    mine.sort(key=lambda account: account["name"] != default)
    return {
        "name": user.name,
        "uid": user.uid,
        "full_name": user.full_name,
        "group": user.group or user.name,
        "groups": sorted({*user.groups} - {user.group or user.name}),
        "home": f"{homes}/{user.name}",
        "ssh_keys": [" ".join(key.split()) for key in user.ssh_keys],
        "admin": user.admin,
        "associations": [
            {"account": account["name"], "options": _options(user, account["options"])}
            for account in mine
        ],
    }


def _options(user: User, of_account: Mapping[str, Any]) -> dict[str, object]:
    """Write down what a user has from the account too, as Slurm shows it."""
    qos, default = user.qos or of_account["QOS"], of_account["DefaultQOS"]
    if default not in qos:
        default = NORMAL if NORMAL in qos else qos[0]
    return {"Fairshare": str(user.shares), "QOS": sorted(qos), "DefaultQOS": default}


def _directory(directory: Directory, resolved: Resolved) -> dict[str, object]:
    return {
        "uris": directory.uris,
        "base_dn": directory.base_dn,
        "kind": directory.kind,
        "bind_dn": directory.bind_dn,
        "bind_secret_arn": directory.bind_secret_arn,
        "ca_certificate": directory.ca_certificate,
        "allowed_groups": directory.allowed_groups,
        "installable": not resolved.network.closed,
    }
