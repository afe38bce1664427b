"""Sessions of Session Manager on the nodes of clusters, which moto's SSM does not know.

A session begins and ends here; nothing is typed in one. What the client and the agent on the node
do in between, the exchange of a data key, they do with KMS. Sources: Systems Manager API reference,
StartSession; user guide, "Sample IAM policies for Session Manager" (the tags of a session).
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from moto.ssm.models import ssm_backends

from embedded_aws.calls import signature_of
from embedded_aws.enforcement.callers import Identities, UnknownCredentials
from embedded_aws.enforcement.needs import DEFAULT_DOCUMENT
from embedded_aws.errors import ServiceError
from embedded_aws.ids import ids
from embedded_aws.sagemaker.clusters import Clusters

_ROOT = "root"


@dataclass
class Session:
    """One session; `owner_id` is the caller's aws:userid, `ended_at` None while it goes on."""

    id: str
    region: str
    target: str
    document: str
    owner: str
    owner_id: str
    reason: str
    began_at: datetime
    ended_at: datetime | None = None


class SessionManager:
    """The sessions of one account. Every public method locks for itself."""

    def __init__(self, account: str, partition: str, clusters: Clusters) -> None:
        self._account = account
        self._identities = Identities(account, partition)
        self._clusters = clusters
        self._lock = threading.Lock()
        self._sessions: dict[str, Session] = {}

    def tags(self, session_id: str) -> Mapping[str, str]:
        """Return the tags that policies know of a session; nothing if there is none."""
        with self._lock:
            session = self._sessions.get(session_id)
        return {"session-id": session.owner_id, "target-id": session.target} if session else {}

    def start(
        self, region: str, headers: Mapping[str, str], given: Mapping[str, Any]
    ) -> dict[str, str]:
        """Begin a session; raises TargetNotConnected and InvalidDocument."""
        target = given["Target"]
        if target not in self._targets(region):
            raise ServiceError("TargetNotConnected", f"{target} is not connected.")
        document = given.get("DocumentName") or DEFAULT_DOCUMENT
        self._require_document(region, document)
        owner, owner_id, name = self._caller(headers)
        session = Session(
            id=ids.prefixed(name),
            region=region,
            target=target,
            document=document,
            owner=owner,
            owner_id=owner_id,
            reason=given.get("Reason") or "",
            began_at=datetime.now(UTC),
        )
        with self._lock:
            self._sessions[session.id] = session
        return _stream(session)

    def resume(
        self, region: str, headers: Mapping[str, str], given: Mapping[str, Any]
    ) -> dict[str, str]:
        """Return a new way into a session that goes on; raises DoesNotExistException."""
        with self._lock:
            session = self._sessions.get(given["SessionId"])
        if session is None or session.ended_at:
            raise ServiceError("DoesNotExistException", f"{given['SessionId']} does not exist")
        return _stream(session)

    def terminate(
        self, region: str, headers: Mapping[str, str], given: Mapping[str, Any]
    ) -> dict[str, str]:
        """End a session; one that is not there has ended, too."""
        with self._lock:
            session = self._sessions.get(given["SessionId"])
            if session and not session.ended_at:
                session.ended_at = datetime.now(UTC)
        return {"SessionId": given["SessionId"]}

    def describe(
        self, region: str, headers: Mapping[str, str], given: Mapping[str, Any]
    ) -> dict[str, Any]:
        """List the sessions that go on, or those of the past."""
        active = given["State"] == "Active"
        with self._lock:
            found = [each for each in self._sessions.values() if each.region == region]
        return {"Sessions": [_shape(each) for each in found if (each.ended_at is None) == active]}

    def _targets(self, region: str) -> set[str]:
        """Return the names of all nodes on which an agent runs."""
        return {
            f"sagemaker-cluster:{cluster.id}_{node.group}-{node.instance_id}"
            for cluster in self._clusters.all(region)
            for node in list(cluster.nodes)
            if node.status == "Running"
        }

    def _require_document(self, region: str, name: str) -> None:
        if name == DEFAULT_DOCUMENT or name.startswith("AWS-"):
            return
        known = ssm_backends[self._account][region]._documents.get(name)  # noqa: SLF001
        if known is None or known.get_default_version().document_type != "Session":
            raise ServiceError("InvalidDocument", f"Document with name {name} does not exist.")

    def _caller(self, headers: Mapping[str, str]) -> tuple[str, str, str]:
        """Return ARN, aws:userid and the short name of who asks."""
        signature = signature_of(
            {
                "HTTP_AUTHORIZATION": headers.get("Authorization", ""),
                "HTTP_X_AMZ_SECURITY_TOKEN": headers.get("X-Amz-Security-Token", ""),
            }
        )
        try:
            assert signature is not None  # noqa: S101 - the gate lets no unsigned request pass
            identity = self._identities.find(signature)
        except UnknownCredentials:  # the administrator of the rehearsal
            return f"arn:aws:iam::{self._account}:{_ROOT}", self._account, _ROOT
        arn = identity.principal.arn
        return arn, identity.context["aws:userid"], arn.rpartition("/")[2]


def serve_with_moto(manager: SessionManager) -> None:
    """Let moto's SSM answer for `manager`; a later one takes its place."""
    from moto.ssm.responses import SimpleSystemManagerResponse

    for name, operation in (
        ("start_session", manager.start),
        ("resume_session", manager.resume),
        ("terminate_session", manager.terminate),
        ("describe_sessions", manager.describe),
    ):
        setattr(SimpleSystemManagerResponse, name, _answering(operation))


def _answering(operation: Callable[..., Mapping[str, Any]]) -> Callable[[Any], Any]:
    from moto.core.responses import ActionResult
    from moto.ssm.exceptions import SSMException

    def answer(response: Any) -> Any:
        try:
            result = operation(response.region, response.headers, json.loads(response.body))
        except ServiceError as error:
            raise SSMException(error.code, error.message) from error
        return ActionResult(result)

    return answer


def _stream(session: Session) -> dict[str, str]:
    url = f"wss://ssmmessages.{session.region}.amazonaws.com/v1/data-channel/{session.id}"
    return {"SessionId": session.id, "TokenValue": secrets.token_hex(32), "StreamUrl": url}


def _shape(session: Session) -> dict[str, Any]:
    return {
        "SessionId": session.id,
        "Target": session.target,
        "Status": "Terminated" if session.ended_at else "Connected",
        "StartDate": session.began_at,
        "DocumentName": session.document,
        "Owner": session.owner,
        **({"Reason": session.reason} if session.reason else {}),
        **({"EndDate": session.ended_at} if session.ended_at else {}),
    }
