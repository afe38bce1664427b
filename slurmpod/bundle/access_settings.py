"""The people of an environment for the steps that make users on nodes and in Slurm."""

from __future__ import annotations

from collections.abc import Sequence

from slurmpod.bundle.slurm_settings import WholeAccount, slurm_accounts
from slurmpod.environment.access import Directory, User
from slurmpod.resolve import Resolved
from slurmpod.resolve.slurm import NORMAL
from slurmpod_lifecycle import settings

LOCAL_HOMES = "/home"
"""Where homes are while nodes share nothing."""


def access_settings(resolved: Resolved) -> settings.Access:
    """Return what nodes are told of people, and of the directory that knows others."""
    access = resolved.access
    users = [known.user for known in access.users]
    groups = [(known.group.name, known.group.gid) for known in access.groups]
    groups += [(user.name, user.uid) for user in users if user.group is None]
    accounts = slurm_accounts(resolved)
    homes = access.home_directory or LOCAL_HOMES
    return settings.Access(
        groups=tuple(settings.Group(name, gid) for name, gid in sorted(groups)),
        users=tuple(_user(each, homes, accounts) for each in sorted(users, key=lambda u: u.name)),
        home_directory=homes,
        homes_shared=access.home_directory is not None,
        directory=_directory(access.directory, resolved) if access.directory else None,
    )


def _user(user: User, homes: str, accounts: Sequence[WholeAccount]) -> settings.User:
    mine = [each for each in accounts if not user.accounts or each.name in user.accounts]
    default = user.default_account or next(iter(user.accounts), None)
    mine.sort(key=lambda account: account.name != default)
    group = user.group or user.name
    return settings.User(
        name=user.name,
        uid=user.uid,
        full_name=user.full_name,
        group=group,
        groups=tuple(sorted({*user.groups} - {group})),
        home=f"{homes}/{user.name}",
        ssh_keys=tuple(" ".join(key.split()) for key in user.ssh_keys),
        admin=user.admin,
        associations=tuple(_association(user, account) for account in mine),
    )


def _association(user: User, account: WholeAccount) -> settings.Association:
    """Write down what a user has from the account too, as Slurm shows it."""
    qos, default = user.qos or account.qos, account.default_qos
    if default not in qos:
        default = NORMAL if NORMAL in qos else qos[0]
    options = {"Fairshare": str(user.shares), "QOS": sorted(qos), "DefaultQOS": default}
    return settings.Association(account.name, options)


def _directory(directory: Directory, resolved: Resolved) -> settings.Directory:
    return settings.Directory(
        uris=directory.uris,
        base_dn=directory.base_dn,
        kind=directory.kind,
        bind_dn=directory.bind_dn,
        bind_secret_arn=directory.bind_secret_arn,
        ca_certificate=directory.ca_certificate,
        allowed_groups=directory.allowed_groups,
        installable=not resolved.network.closed,
    )
