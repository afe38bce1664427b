"""Who signed a request, for which service and region.

Signatures are not recomputed: whoever knows a key id and its session token is believed.
Source: AWS Signature Version 4 (IAM user guide, "Create a signed AWS API request").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from collections.abc import Mapping

_SCOPE_PARTS = 5


@dataclass(frozen=True)
class Signature:
    """What a request says about its signer; `token` is that of a session, empty for users."""

    access_key_id: str
    token: str
    region: str
    service: str


def signature_of(environ: Mapping[str, str]) -> Signature | None:
    """Return who signed a WSGI request, in a header or (presigned) in the URL; None: nobody."""
    scope = _in_header(environ.get("HTTP_AUTHORIZATION", ""))
    token = environ.get("HTTP_X_AMZ_SECURITY_TOKEN", "")
    if not scope:
        query = parse_qs(environ.get("QUERY_STRING", ""))
        scope = query.get("X-Amz-Credential", [""])[0]
        token = query.get("X-Amz-Security-Token", [""])[0]
    parts = scope.split("/")
    if len(parts) != _SCOPE_PARTS:
        return None
    access_key_id, _, region, service, _ = parts
    return Signature(access_key_id, token, region, service.lower())


def _in_header(authorization: str) -> str:
    """Return the credential scope: `<key id>/<date>/<region>/<service>/aws4_request`."""
    for part in authorization.replace(",", " ").split():
        name, _, value = part.partition("=")
        if name == "Credential":
            return value
    return ""
