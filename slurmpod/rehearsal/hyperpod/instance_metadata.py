"""The instance metadata service for programs on nodes, at 169.254.169.254.

It requires a session token (IMDSv2) unless the profile says otherwise, and identifies nodes by
their addresses. Sources: EC2 user guide, "Instance metadata categories" and "Use the Instance
Metadata Service"; public lifecycle scripts request the instance id and type, the Region, the zone
and the role's credentials from HyperPod's nodes. No source lists the other categories on HyperPod.
Tags exist if the profile says so: EC2 has them only for instances with InstanceMetadataTags.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import socket

from embedded_aws.cluster import ClusterNode
from slurmpod.environment.catalog import instance_types
from slurmpod.rehearsal.hyperpod.node_roles import NodeRole

ADDRESS = "169.254.169.254"
PORT = 80
TOKEN_PATH = "/latest/api/token"  # noqa: S105  # a path
TTL = "X-aws-ec2-metadata-token-ttl-seconds"
TOKEN = "X-aws-ec2-metadata-token"  # noqa: S105  # a header
LONGEST_TTL_SECONDS = 21600
CREDENTIALS_LAST = timedelta(hours=6)

SERVICE_ACCOUNT = "000000000000"
"""HyperPod's instances are in an account of the service, not in the user's account."""


@dataclass(frozen=True)
class Instance:
    """A node as described by its metadata: its group's role, its tags and its Region."""

    node: ClusterNode
    role_arn: str
    role: NodeRole
    region: str
    tags: Mapping[str, str] = field(default_factory=dict)


Metadata = Mapping[str, str]
"""The answers by their path below /latest/; folders are common prefixes of paths."""


def metadata_of(instance: Instance, now: datetime) -> Metadata:
    """Return all metadata of a node, and its role's credentials."""
    node, interface = instance.node, instance.node.interface
    assert interface is not None  # noqa: S101  # gone only when the node is
    type_of_ec2 = node.instance_type.removeprefix("ml.")
    name = f"ip-{node.private_ip.replace('.', '-')}.{instance.region}.compute.internal"
    return {
        **{f"meta-data/tags/instance/{key}": text for key, text in instance.tags.items()},
        "meta-data/hostname": name,
        "meta-data/iam/info": _json(
            Code="Success", InstanceProfileArn=instance.role_arn, InstanceProfileId=node.instance_id
        ),
        f"meta-data/iam/security-credentials/{_role_name(instance)}": _credentials(instance, now),
        "meta-data/instance-id": node.instance_id,
        "meta-data/instance-type": type_of_ec2,
        "meta-data/local-hostname": name,
        "meta-data/local-ipv4": node.private_ip,
        "meta-data/placement/availability-zone": interface.availability_zone,
        "meta-data/placement/availability-zone-id": interface.availability_zone_id,
        "meta-data/placement/region": instance.region,
        "meta-data/services/domain": "amazonaws.com",
        "meta-data/services/partition": instance.role_arn.split(":")[1],
        "dynamic/instance-identity/document": _json(
            accountId=SERVICE_ACCOUNT,
            architecture=instance_types()[node.instance_type].architecture,
            availabilityZone=interface.availability_zone,
            instanceId=node.instance_id,
            instanceType=type_of_ec2,
            pendingTime=_time(node.launched_at),
            privateIp=node.private_ip,
            region=instance.region,
            version="2017-09-30",
        ),
    }


def answer(metadata: Metadata, path: str) -> str | None:
    """Return the value at a path below /latest/, or a folder's listing; otherwise None."""
    wanted = path.strip("/")
    if wanted in metadata:
        return metadata[wanted]
    inside = [key.removeprefix(f"{wanted}/") for key in metadata if key.startswith(f"{wanted}/")]
    if not inside:
        return None
    names = (name.partition("/") for name in inside)
    return "\n".join(dict.fromkeys(f"{first}{slash}" for first, slash, _ in names))


def _credentials(instance: Instance, now: datetime) -> str:
    given = instance.role.variables
    return _json(
        Code="Success",
        LastUpdated=_time(now),
        Type="AWS-HMAC",
        AccessKeyId=given["AWS_ACCESS_KEY_ID"],
        SecretAccessKey=given["AWS_SECRET_ACCESS_KEY"],
        Token=given["AWS_SESSION_TOKEN"],
        Expiration=_time(now + CREDENTIALS_LAST),
    )


def _role_name(instance: Instance) -> str:
    return instance.role_arn.rpartition("/")[2]


def _json(**values: str) -> str:
    return json.dumps(values, indent=2)


def _time(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class MetadataServer:
    """Answers on a listening socket until it is closed; `instance_at` identifies the caller."""

    def __init__(
        self,
        listening: socket,
        instance_at: Callable[[str], Instance | None],
        *,
        is_token_needed: bool = True,
    ) -> None:
        tokens: set[str] = set()

        class Handler(_Handler):
            known_tokens = tokens
            find = staticmethod(instance_at)
            needs_token = is_token_needed

        self._server = ThreadingHTTPServer((ADDRESS, PORT), Handler, bind_and_activate=False)
        self._server.socket.close()
        self._server.socket = listening
        self._server.daemon_threads = True
        threading.Thread(
            target=self._server.serve_forever, name="instance-metadata", daemon=True
        ).start()

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """One request; statuses and their conditions are EC2's."""

    known_tokens: set[str]
    find: Callable[[str], Instance | None]
    needs_token: bool
    server_version, sys_version = "EC2ws", ""

    def do_PUT(self) -> None:  # the base class's
        """Start a session."""
        seconds = self.headers.get(TTL, "")
        if self.path != TOKEN_PATH:
            self._send(404)
        elif not seconds.isdigit() or not 0 < int(seconds) <= LONGEST_TTL_SECONDS:
            self._send(400)
        else:
            token = secrets.token_urlsafe(40)
            self.known_tokens.add(token)
            self._send(200, token, (TTL, seconds))

    def do_GET(self) -> None:  # the base class's
        """Return a node's own metadata."""
        instance = self.find(self.client_address[0])
        if self.needs_token and self.headers.get(TOKEN) not in self.known_tokens:
            self._send(401)
        elif instance is None:
            self._send(404)
        else:
            metadata = metadata_of(instance, datetime.now(UTC))
            text = answer(metadata, self.path.removeprefix("/latest/").removeprefix("/1.0/"))
            self._send(404) if text is None else self._send(200, text)

    def _send(self, status: int, text: str = "", *headers: tuple[str, str]) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's
        """Log nothing: metadata requests are too frequent to be of interest."""
