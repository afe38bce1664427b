"""An environment in which AWS tools can reach the embedded AWS and nothing else.

Everything that could lead an SDK elsewhere is taken out or overridden: real credentials, profiles,
files in ~/.aws, endpoints of single services, the metadata service, and proxies for localhost. The
CDK CLI is kept from calling home.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from embedded_aws.clients import SECRET_ACCESS_KEY, access_key_id

_LOOPBACK = "localhost,127.0.0.1,::1"
_READ_BY_AWS_TOOLS = ("AWS_", "BOTO_", "CDK_", "MOTO_")
_LEADS_NOWHERE = "CDK_VALIDATION"
"""Whether the CDK checks templates while it synthesizes them: the user's choice, here as there."""


def variables(*, endpoint: str, account: str, region: str) -> dict[str, str]:
    """Return the variables that lead AWS tools to `endpoint`, for `isolated_environment`."""
    return {
        "AWS_ACCESS_KEY_ID": access_key_id(account),
        "AWS_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_DEFAULT_REGION": region,
        "AWS_REGION": region,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_PAGER": "",
        "CDK_DEFAULT_ACCOUNT": account,
        "CDK_DEFAULT_REGION": region,
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "CDK_DISABLE_VERSION_CHECK": "true",
        "CDK_NOTICES": "false",
        "NO_PROXY": _LOOPBACK,
        "no_proxy": _LOOPBACK,
    }


def isolated_environment(
    inherited: Mapping[str, str], variables: Mapping[str, str]
) -> dict[str, str]:
    """Return `inherited` without anything that AWS tools read, plus `variables`.

    Taking out matters as much as putting in: a profile or the endpoint of a single service wins
    over AWS_ENDPOINT_URL.
    """
    kept = {name: value for name, value in inherited.items() if not is_read_by_aws_tools(name)}
    return {**kept, **variables}


def is_read_by_aws_tools(name: str) -> bool:
    """Return whether AWS tools look at a variable of this name to know where and who they are."""
    return name.startswith(_READ_BY_AWS_TOOLS) and name != _LEADS_NOWHERE


_THROUGH_HERE = 'aws() { command aws --endpoint-url "$AWS_ENDPOINT_URL" "$@"; }'
"""What keeps the AWS CLI of version 1 here: for SQS, and for RDS in us-east-1, it goes to addresses
of its own unless this option, for which there is no variable, says otherwise."""


def shell_lines(inherited: Mapping[str, str], variables: Mapping[str, str]) -> Iterator[str]:
    """Yield what leads a shell's AWS tools as `variables` do, whatever it has inherited."""
    for name in sorted(inherited.keys() - variables.keys()):
        if is_read_by_aws_tools(name):
            yield f"unset {shlex.quote(name)}"
    for name, value in variables.items():
        yield f"export {name}={shlex.quote(value)}"
    yield _THROUGH_HERE


@contextmanager
def process_environment(environment: Mapping[str, str]) -> Iterator[None]:
    """Give this process `environment` for a while, then put back what was changed."""
    touched = {n for n in {*os.environ, *environment} if os.environ.get(n) != environment.get(n)}
    before = {name: os.environ.get(name) for name in touched}
    _set_variables({name: environment.get(name) for name in touched})
    try:
        yield
    finally:
        _set_variables(before)


def _set_variables(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
