"""Session Manager sessions on cluster nodes, which moto's SSM does not support.

Sessions start and end here; their input and output are handled elsewhere. `data_channels` gives the
stand-in for the plugin the purpose of a session. The client and the agent on the node exchange a
data key through KMS. Sources: Systems Manager API reference, StartSession; user guide, "Sample IAM
policies for Session Manager" (the tags of a session), "Turn on Run As support" (the tag of its
caller).
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
from embedded_aws.cluster import RUNNING, ClusterNode
from embedded_aws.enforcement.callers import Identities, UnknownCredentials
from embedded_aws.enforcement.needs import DEFAULT_DOCUMENT
from embedded_aws.errors import ServiceError
from embedded_aws.ids import ids
from embedded_aws.sagemaker.clusters import Clusters

RUN_AS_TAG = "SSMSessionRunAs"
"""The tag of an IAM user or role that takes precedence over the document's user."""

CHANNELS = "/v1/data-channel/"
"""The path of data channels; the session's id follows."""

_ROOT = "root"


@dataclass(frozen=True)
class Caller:
    """The caller of a session; `user_id` is aws:userid, `run_as` is from the caller's tag."""

    arn: str
    user_id: str
    name: str
    run_as: str = ""


@dataclass
class Session:
    """One session; `ended_at` is None while it is open."""

    id: str
    region: str
    target: str
    document: str
    owner: Caller
    reason: str
    began_at: datetime
    token: str
    ended_at: datetime | None = None


@dataclass(frozen=True)
class AgentView:
    """A session as the agent on the node sees it: the node, and the inputs of the document.

    `run_as` is the user in the caller's tag, or empty.
    """

    cluster: str
    private_dns_hostname: str
    inputs: Mapping[str, Any]
    run_as: str


class SessionManager:
    """The sessions of one account. Every public method does its own locking."""

    def __init__(self, account: str, partition: str, clusters: Clusters) -> None:
        self._account = account
        self._identities = Identities(account, partition)
        self._clusters = clusters
        self._lock = threading.Lock()
        self._sessions: dict[str, Session] = {}

    def tags(self, session_id: str) -> Mapping[str, str]:
        """Return the tags of a session for policies, empty if the session is unknown."""
        with self._lock:
            session = self._sessions.get(session_id)
        if session is None:
            return {}
        return {"session-id": session.owner.user_id, "target-id": session.target}

    def start(
        self, region: str, headers: Mapping[str, str], given: Mapping[str, Any]
    ) -> dict[str, str]:
        """Start a session; raises TargetNotConnected and InvalidDocument."""
        target = given["Target"]
        if target not in self._nodes(region):
            raise ServiceError("TargetNotConnected", f"{target} is not connected.")
        document = given.get("DocumentName") or DEFAULT_DOCUMENT
        self._require_document(region, document)
        owner = self._caller(headers)
        session = Session(
            id=ids.prefixed(owner.name),
            region=region,
            target=target,
            document=document,
            owner=owner,
            reason=given.get("Reason") or "",
            began_at=datetime.now(UTC),
            token=secrets.token_hex(32),
        )
        with self._lock:
            self._sessions[session.id] = session
        return _stream(session)

    def seen_by_agent(self, session_id: str, token: str) -> AgentView | None:
        """Return the agent's view of an open session; None for any other token."""
        session = self._with_token(session_id, token)
        if session is None:
            return None
        found = self._nodes(session.region).get(session.target)
        if found is None:
            return None
        cluster, node = found
        inputs = self._inputs(session.region, session.document)
        return AgentView(cluster, node.private_dns_hostname, inputs, session.owner.run_as)

    def end(self, session_id: str, token: str) -> bool:
        """End a session when its channel closes; return whether it was open with this token."""
        session = self._with_token(session_id, token)
        if session is None:
            return False
        with self._lock:
            session.ended_at = session.ended_at or datetime.now(UTC)
        return True

    def resume(
        self, region: str, headers: Mapping[str, str], given: Mapping[str, Any]
    ) -> dict[str, str]:
        """Return a new stream for an open session; raises DoesNotExistException."""
        with self._lock:
            session = self._sessions.get(given["SessionId"])
        if session is None or session.ended_at:
            raise ServiceError("DoesNotExistException", f"{given['SessionId']} does not exist")
        return _stream(session)

    def terminate(
        self, region: str, headers: Mapping[str, str], given: Mapping[str, Any]
    ) -> dict[str, str]:
        """End a session; a missing one counts as ended."""
        with self._lock:
            session = self._sessions.get(given["SessionId"])
            if session and not session.ended_at:
                session.ended_at = datetime.now(UTC)
        return {"SessionId": given["SessionId"]}

    def describe(
        self, region: str, headers: Mapping[str, str], given: Mapping[str, Any]
    ) -> dict[str, Any]:
        """List the open or the past sessions."""
        active = given["State"] == "Active"
        with self._lock:
            found = [each for each in self._sessions.values() if each.region == region]
        return {"Sessions": [_shape(each) for each in found if (each.ended_at is None) == active]}

    def _with_token(self, session_id: str, token: str) -> Session | None:
        with self._lock:
            session = self._sessions.get(session_id)
        if session is None or session.ended_at:
            return None
        return session if secrets.compare_digest(session.token, token) else None

    def _nodes(self, region: str) -> dict[str, tuple[str, ClusterNode]]:
        """Return all nodes with a running agent and their cluster's names, by target."""
        return {
            f"sagemaker-cluster:{cluster.id}_{node.group}-{node.instance_id}": (cluster.name, node)
            for cluster in self._clusters.all(region)
            for node in list(cluster.nodes)
            if node.status == RUNNING
        }

    def _require_document(self, region: str, name: str) -> None:
        if _is_of_aws(name):
            return
        known = ssm_backends[self._account][region]._documents.get(name)  # noqa: SLF001
        if known is None or known.get_default_version().document_type != "Session":
            raise ServiceError("InvalidDocument", f"Document with name {name} does not exist.")

    def _inputs(self, region: str, name: str) -> Mapping[str, Any]:
        """Return the inputs of the account's document; those of AWS's documents do not matter."""
        if _is_of_aws(name):
            return {}
        document = ssm_backends[self._account][region]._documents[name]  # noqa: SLF001
        inputs: Mapping[str, Any] = document.get_default_version().content_json.get("inputs", {})
        return inputs

    def _caller(self, headers: Mapping[str, str]) -> Caller:
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
            return Caller(f"arn:aws:iam::{self._account}:{_ROOT}", self._account, _ROOT)
        arn, known = identity.principal.arn, identity.context
        run_as = known.get(f"aws:PrincipalTag/{RUN_AS_TAG}", "")
        return Caller(arn, known["aws:userid"], arn.rpartition("/")[2], run_as)


def serve_with_moto(manager: SessionManager) -> None:
    """Let moto's SSM answer with `manager`, which replaces an earlier one."""
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


def _is_of_aws(document: str) -> bool:
    return document == DEFAULT_DOCUMENT or document.startswith("AWS-")


def _stream(session: Session) -> dict[str, str]:
    url = f"wss://ssmmessages.{session.region}.amazonaws.com{CHANNELS}{session.id}"
    return {"SessionId": session.id, "TokenValue": session.token, "StreamUrl": url}


def _shape(session: Session) -> dict[str, Any]:
    return {
        "SessionId": session.id,
        "Target": session.target,
        "Status": "Terminated" if session.ended_at else "Connected",
        "StartDate": session.began_at,
        "DocumentName": session.document,
        "Owner": session.owner.arn,
        **({"Reason": session.reason} if session.reason else {}),
        **({"EndDate": session.ended_at} if session.ended_at else {}),
    }
