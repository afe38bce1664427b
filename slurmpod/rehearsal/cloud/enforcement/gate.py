"""The way into the embedded AWS: lets a request pass, or answers as AWS does to who may not.

The administrator, whose credentials the rehearsal hands out and its platform uses, may everything,
and so may the roles of the CDK's bootstrap that its command line assumes for the administrator.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.clients import access_key_id
from slurmpod.rehearsal.cloud.enforcement.calls import call_of
from slurmpod.rehearsal.cloud.enforcement.denials import (
    access_denied,
    unknown_credentials,
    unsigned,
)
from slurmpod.rehearsal.cloud.enforcement.identities import Identities, UnknownCredentials
from slurmpod.rehearsal.cloud.enforcement.judge import Judge
from slurmpod.rehearsal.cloud.enforcement.needs import needs_of
from slurmpod.rehearsal.cloud.enforcement.signature import signature_of

if TYPE_CHECKING:
    from slurmpod.rehearsal.cloud.enforcement.denials import Denial
    from slurmpod.rehearsal.cloud.enforcement.names import Names


_DEPLOYERS = re.compile(
    r".*/cdk-[a-z0-9]+-(deploy|file-publishing|image-publishing|lookup)-role-.*"
)


class Gate:
    """Judges the requests to one account."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._administrator = access_key_id(names.account)
        self._identities = Identities(names.account, names.partition)

    def refusal(self, environ: dict[str, Any]) -> Denial | None:
        """Return the answer to a WSGI request that must not pass; None for one that may."""
        signature = signature_of(environ)
        if signature is None:
            return unsigned()
        if signature.access_key_id == self._administrator:
            return None
        try:
            identity = self._identities.find(signature)
        except UnknownCredentials:
            return unknown_credentials(call_of(environ, signature))
        if _DEPLOYERS.fullmatch(identity.principal.role_arn or ""):
            return None
        call = call_of(environ, signature)
        needs = needs_of(call, self._names)
        message = Judge(self._names, call.region).refusal(identity, needs)
        return access_denied(call, message) if message else None
