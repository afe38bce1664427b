"""A stand-in for AWS's session-manager-plugin, which the AWS CLI starts once a session has begun.

The real one speaks to the agent on the node through AWS. Here the node is on this machine and is
entered directly, with what the session's document says to run: a command, or a shell, as the user
that the document or the caller's tag names. As with the real one the exit status of that is told
nowhere. The order of the arguments is that of the AWS CLI
(awscli/customizations/sessionmanager.py).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3

from embedded_aws.clients import Clients
from slurmpod.aws.errors import suppressed
from slurmpod.rehearsal.nodes.enter import enter_command

if TYPE_CHECKING:
    from types_boto3_sagemaker import SageMakerClient

NAME = "session-manager-plugin"
FOLDER = "SLURMPOD_REHEARSAL_FOLDER"
"""The variable that tells in which rehearsal the nodes are."""

VERSION = "1.2.764.0"
"""What the AWS CLI asks first: from this version on it gives its answer in a variable."""

RUN_AS_TAG = "SSMSessionRunAs"
"""The tag of an IAM user or role that goes before the document's user (Systems Manager user guide,
"Turn on Run As support")."""

SSH_DOCUMENT = "AWS-StartSSHSession"

CARRY = """
import os, socket, sys, threading
node = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def send():
    while data := os.read(0, 65536):
        node.sendall(data)
    node.shutdown(socket.SHUT_WR)
threading.Thread(target=send, daemon=True).start()
while data := node.recv(65536):
    while data:
        data = data[os.write(1, data):]
"""
"""Runs on the node, in place of its agent."""

PROGRAM = """\
#!/bin/sh
exec {python} -P -m slurmpod.rehearsal.session_plugin "$@"
"""


def variables(folder: Path) -> dict[str, str]:
    """Put the program into a rehearsal's folder; return what lets the AWS CLI find and use it."""
    program = folder / "bin" / NAME
    program.parent.mkdir(exist_ok=True)
    program.write_text(PROGRAM.format(python=sys.executable))
    program.chmod(0o755)
    return {FOLDER: str(folder), "PATH": f"{program.parent}:{os.environ['PATH']}"}


def main(arguments: list[str]) -> None:
    """Run what the session is for, and end the session."""
    if arguments == ["--version"]:
        sys.stdout.write(f"{VERSION}\n")
        return
    response, region, _, _, request, endpoint = arguments
    session_id = json.loads(os.environ.get(response, response))["SessionId"]
    session = boto3.session.Session(region_name=region)
    asked = json.loads(request)
    is_ssh = asked.get("DocumentName") == SSH_DOCUMENT
    tell = sys.stderr.write if is_ssh else sys.stdout.write  # stdout is the connection of ssh
    tell("" if is_ssh else f"\nStarting session with SessionId: {session_id}\n")
    sys.stdout.flush()
    caller = session.client("sts", endpoint_url=endpoint).get_caller_identity()
    # Session Manager reads these itself: whoever opens a session need not be allowed to.
    clients = Clients(endpoint=endpoint, account=caller["Account"], region=region)
    service = clients.service
    hostname = _hostname(clients.sagemaker, asked["Target"])
    inputs = _inputs(service, asked.get("DocumentName"))
    try:
        user = user_of(inputs, _tags(service, caller["Arn"]))
    except NoUser as refusal:
        tell(f"{refusal}\n")
    else:
        command = enter_command(
            Path(os.environ[FOLDER]), hostname, command_of(asked, inputs), user=user
        )
        subprocess.run(command, check=False)
    session.client("ssm", endpoint_url=endpoint).terminate_session(SessionId=session_id)
    tell("" if is_ssh else f"\nExiting session with sessionId: {session_id}.\n")


class NoUser(Exception):
    """Nobody says as whom the session runs, so that it does not begin."""


def user_of(inputs: Mapping[str, Any], tags: Mapping[str, str]) -> str:
    """Return as whom a session runs, by the inputs of its document and the tags of its caller.

    Raises:
        NoUser: The document wants a user, and neither it nor the caller's tag names one.
    """
    if not inputs.get("runAsEnabled"):
        return "root"
    user = tags.get(RUN_AS_TAG) or inputs.get("runAsDefaultUser")
    if not user:
        raise NoUser(f"this session needs a user: tag whoever opens it with {RUN_AS_TAG}")
    return str(user)


def command_of(asked: Mapping[str, Any], inputs: Mapping[str, Any]) -> list[str]:
    """Return what a session runs: the command that was asked for, or the shell of its document.

    A session for ssh carries the bytes of a connection to a port of the node.
    """
    if asked.get("DocumentName") == SSH_DOCUMENT:
        return ["python3", "-c", CARRY, *asked.get("Parameters", {}).get("portNumber", ["22"])]
    commands = asked.get("Parameters", {}).get("command")
    if commands:
        return ["sh", "-c", commands[0]]
    profile = inputs.get("shellProfile", {}).get("linux")
    return ["sh", "-c", profile] if profile else ["bash", "--login"]


def _inputs(service: Callable[[str], Any], document: str | None) -> dict[str, Any]:
    """Return the inputs of a document of the account; AWS's own have none that count here."""
    if document is None or document.startswith("AWS-"):
        return {}
    content = service("ssm").get_document(Name=document)["Content"]
    inputs: dict[str, Any] = json.loads(content).get("inputs", {})
    return inputs


def _tags(service: Callable[[str], Any], arn: str) -> dict[str, str]:
    """Return the tags of the IAM user or role that opens a session; the administrator has none."""
    kind, _, name = arn.rpartition(":")[2].partition("/")
    found: list[dict[str, str]] = []
    with suppressed("NoSuchEntity"):
        if kind == "user":
            found = service("iam").list_user_tags(UserName=name.rpartition("/")[2])["Tags"]
        elif kind == "assumed-role":
            found = service("iam").list_role_tags(RoleName=name.partition("/")[0])["Tags"]
    return {tag["Key"]: tag["Value"] for tag in found}


def _hostname(sagemaker: SageMakerClient, target: str) -> str:
    """Return the node that a target names: sagemaker-cluster:<cluster id>_<group>-<instance>."""
    cluster_id = target.partition(":")[2].partition("_")[0]
    listed = sagemaker.get_paginator("list_clusters").paginate()
    clusters = [each for page in listed for each in page["ClusterSummaries"]]
    name = next(c["ClusterName"] for c in clusters if c["ClusterArn"].endswith(f"/{cluster_id}"))
    pages = sagemaker.get_paginator("list_cluster_nodes").paginate(ClusterName=name)
    nodes = [each for page in pages for each in page["ClusterNodeSummaries"]]
    node = next(each for each in nodes if target.endswith(f"-{each['InstanceId']}"))
    return node["PrivateDnsHostname"].partition(".")[0]


if __name__ == "__main__":
    main(sys.argv[1:])
