"""The SDK's session of whoever runs this: credentials, endpoints and Region."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.aws.errors import as_unavailable

if TYPE_CHECKING:
    import boto3


def session_of(region: str) -> boto3.session.Session:
    """Return a session with the credentials, and to the endpoints, that the user's settings name.

    Raises:
        AwsUnavailable: The settings name a profile that is not there.
    """
    import boto3  # takes longer than all of validate

    with as_unavailable("use the AWS settings of this shell"):
        return boto3.session.Session(region_name=region)
