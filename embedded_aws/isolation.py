"""An environment in which AWS tools can reach the embedded AWS and nothing else.

Everything that could point an SDK elsewhere is removed or overridden: real credentials, profiles,
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
"""Whether the CDK checks templates during synthesis; the user's choice is kept."""


def variables(*, endpoint: str, account: str, region: str) -> dict[str, str]:
    """Return the variables that point AWS tools to `endpoint`, for `isolated_environment`."""
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

    Removing matters as much as adding: a profile or the endpoint of a single service takes
    precedence over AWS_ENDPOINT_URL.
    """
    kept = {name: value for name, value in inherited.items() if not is_read_by_aws_tools(name)}
    return {**kept, **variables}


def is_read_by_aws_tools(name: str) -> bool:
    """Return whether AWS tools read this variable to find endpoints or credentials."""
    return name.startswith(_READ_BY_AWS_TOOLS) and name != _LEADS_NOWHERE


_THROUGH_HERE = 'aws() { command aws --endpoint-url "$AWS_ENDPOINT_URL" "$@"; }'
"""Keeps version 1 of the AWS CLI here: for SQS, and for RDS in us-east-1, it uses hard-coded
endpoints unless this option is given, for which there is no variable."""


def shell_lines(inherited: Mapping[str, str], variables: Mapping[str, str]) -> Iterator[str]:
    """Yield shell lines that point AWS tools as `variables` do, regardless of what is inherited."""
    for name in sorted(inherited.keys() - variables.keys()):
        if is_read_by_aws_tools(name):
            yield f"unset {shlex.quote(name)}"
    for name, value in variables.items():
        yield f"export {name}={shlex.quote(value)}"
    yield _THROUGH_HERE


@contextmanager
def process_environment(environment: Mapping[str, str]) -> Iterator[None]:
    """Use `environment` in this process within the block, then restore the previous one."""
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
