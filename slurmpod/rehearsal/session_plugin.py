"""A stand-in for AWS's session-manager-plugin, which the AWS CLI starts once a session has begun.

The real one speaks to the agent on the node through AWS. Here the node is on this machine and is
entered directly, with what the session's document says to run: a command, or a shell. As with the
real one the exit status of that is told nowhere. The order of the arguments is that of the AWS CLI
(awscli/customizations/sessionmanager.py).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import boto3

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.deployment import Deployment
from slurmpod.rehearsal.nodes.enter import enter_command

NAME = "session-manager-plugin"
FOLDER = "SLURMPOD_REHEARSAL_FOLDER"
"""The variable that tells in which rehearsal the nodes are."""

VERSION = "1.2.764.0"
"""What the AWS CLI asks first: from this version on it gives its answer in a variable."""

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
    sys.stdout.write(f"\nStarting session with SessionId: {session_id}\n")
    sys.stdout.flush()
    asked = json.loads(request)
    hostname = _hostname(session, endpoint, asked["Target"])
    subprocess.run(
        enter_command(Path(os.environ[FOLDER]), hostname, command_of(asked)), check=False
    )
    session.client("ssm", endpoint_url=endpoint).terminate_session(SessionId=session_id)
    sys.stdout.write(f"\nExiting session with sessionId: {session_id}.\n")


def command_of(asked: Mapping[str, Any]) -> list[str]:
    """Return what the document of a session runs, with the parameters that it was given."""
    commands = asked.get("Parameters", {}).get("command")
    return ["sh", "-c", commands[0]] if commands else ["bash", "--login"]


def _hostname(session: boto3.session.Session, endpoint: str, target: str) -> str:
    """Return the node that a target names: sagemaker-cluster:<cluster id>_<group>-<instance>."""
    cluster_id = target.partition(":")[2].partition("_")[0]
    pages = session.client("sagemaker", endpoint_url=endpoint).get_paginator("list_clusters")
    clusters = [each for page in pages.paginate() for each in page["ClusterSummaries"]]
    name = next(c["ClusterName"] for c in clusters if c["ClusterArn"].endswith(f"/{cluster_id}"))
    nodes = Deployment(AwsClients(session, endpoint)).cluster_nodes(name)
    return next(node.hostname for node in nodes if target.endswith(f"-{node.instance_id}"))


if __name__ == "__main__":
    main(sys.argv[1:])
