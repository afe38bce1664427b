"""A replacement for AWS's session-manager-plugin, which carries a session once it has started.

The real plugin speaks to the agent on the node through AWS. Here the node is on this machine and is
entered directly, with the command or shell from the session's document, as the user that the
document or the caller's tag names. As with the real plugin, the command's exit status is not
reported. slurmpod.aws.session_plugin or the AWS CLI starts it, in the same way.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from slurmpod.rehearsal.nodes.enter import enter_command
from slurmpod.rehearsal.nodes.folder import network_of

FOLDER = "SLURMPOD_REHEARSAL_FOLDER"
"""The variable with the folder of the rehearsal whose nodes are meant."""

VERSION = "1.2.764.0"
"""The version that the program reports: from this version on, it gets StartSession's answer in a
variable. The shell prints it, a hundred times faster than Python would."""

RUN_AS_TAG = "SSMSessionRunAs"
"""The tag of an IAM user or role that overrides the document's user (Systems Manager user guide,
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
[ "$1" != --version ] || exec echo {version}
exec {python} -P -m slurmpod.rehearsal.session_plugin "$@"
"""


def variables(folder: Path) -> dict[str, str]:
    """Write the program into a rehearsal's folder; return the variables with which it is found."""
    from slurmpod.aws.session_plugin import NAME  # the program itself does not load AWS's SDK

    program = folder / "bin" / NAME
    program.parent.mkdir(exist_ok=True)
    program.write_text(PROGRAM.format(python=sys.executable, version=VERSION))
    program.chmod(0o755)
    return {FOLDER: str(folder), "PATH": f"{program.parent}:{os.environ['PATH']}"}


def main(arguments: list[str]) -> None:
    """Run the session's command, then end the session."""
    response, _, _, _, request, endpoint = arguments
    begun = json.loads(os.environ.pop(response, response))  # holds a token
    asked = json.loads(request)
    is_ssh = asked.get("DocumentName") == SSH_DOCUMENT
    tell = sys.stderr.write if is_ssh else sys.stdout.write  # stdout is the connection of ssh
    tell("" if is_ssh else f"\nStarting session with SessionId: {begun['SessionId']}\n")
    sys.stdout.flush()
    agent = _channel(endpoint, begun, "POST")
    try:
        user = user_of(agent["inputs"], agent["run_as"])
    except NoUser as refusal:
        tell(f"{refusal}\n")
    else:
        network = network_of(Path(os.environ[FOLDER]), agent["cluster"])
        hostname = agent["private_dns_hostname"].partition(".")[0]
        command = command_of(asked, agent["inputs"])
        subprocess.run(enter_command(network, hostname, command, user=user), check=False)
    _channel(endpoint, begun, "DELETE")
    tell("" if is_ssh else f"\nExiting session with sessionId: {begun['SessionId']}.\n")


class NoUser(Exception):
    """The session names no user, so it does not start."""


def user_of(inputs: Mapping[str, Any], run_as: str) -> str:
    """Return the user of a session, from its document's inputs and the caller's tag.

    Raises:
        NoUser: The document requires a user, and neither it nor the caller's tag names one.
    """
    if not inputs.get("runAsEnabled"):
        return "root"
    user = run_as or inputs.get("runAsDefaultUser")
    if not user:
        raise NoUser(f"this session needs a user: tag the caller with {RUN_AS_TAG}")
    return str(user)


def command_of(asked: Mapping[str, Any], inputs: Mapping[str, Any]) -> list[str]:
    """Return what a session runs: the requested command or the shell of its document.

    A session for ssh carries the bytes of a connection to a port of the node.
    """
    if asked.get("DocumentName") == SSH_DOCUMENT:
        return ["python3", "-c", CARRY, *asked.get("Parameters", {}).get("portNumber", ["22"])]
    commands = asked.get("Parameters", {}).get("command")
    if commands:
        return ["sh", "-c", commands[0]]
    profile = inputs.get("shellProfile", {}).get("linux")
    return ["sh", "-c", profile] if profile else ["bash", "--login"]


def _channel(endpoint: str, begun: Mapping[str, str], method: str) -> dict[str, Any]:
    """Open or close a session's data channel; return the data of its agent."""
    place = urlsplit(endpoint)
    connection = HTTPConnection(str(place.hostname), place.port)
    with closing(connection):
        connection.request(method, urlsplit(begun["StreamUrl"]).path, begun["TokenValue"])
        answer = connection.getresponse()
        known: dict[str, Any] = json.load(answer)
    if answer.status == HTTPStatus.FORBIDDEN and method == "POST":
        sys.exit(f"the session {begun['SessionId']} has ended, or its node has")
    return known


if __name__ == "__main__":
    main(sys.argv[1:])
