"""The gateway to an embedded AWS: made-up credentials, so that it can reach no real account."""

from __future__ import annotations

import boto3

from slurmpod.aws.gateway import Gateway
from slurmpod.rehearsal.cloud.clients import SECRET_ACCESS_KEY, access_key_id


def embedded_gateway(endpoint: str, *, account: str, region: str) -> Gateway:
    """Return a gateway to the embedded AWS at `endpoint`.

    The process has to be isolated: AWS settings of the user would still be looked at.
    """
    session = boto3.session.Session(
        aws_access_key_id=access_key_id(account),
        aws_secret_access_key=SECRET_ACCESS_KEY,
        region_name=region,
    )
    return Gateway(session, endpoint_url=endpoint)
