"""Clients of an embedded AWS, with made-up credentials so that they reach no real account."""

from __future__ import annotations

import boto3

from embedded_aws.clients import SECRET_ACCESS_KEY, access_key_id
from slurmpod.aws.clients import AwsClients
from slurmpod.rehearsal.state import Request


def embedded_clients(endpoint: str, request: Request) -> AwsClients:
    """Return clients of the embedded AWS at `endpoint`, in the requested account.

    The process must be isolated: the clients would still read the user's AWS settings.
    """
    session = boto3.session.Session(
        aws_access_key_id=access_key_id(request.account),
        aws_secret_access_key=SECRET_ACCESS_KEY,
        region_name=request.region,
    )
    return AwsClients(session, endpoint)
