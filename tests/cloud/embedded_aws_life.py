"""One life of an environment in the embedded AWS, run by the real CDK CLI and written down.

The user's environment is made as dangerous as it gets: real-looking credentials, a profile, proxies
and a service endpoint that all lead to a trap. Whatever leaves for anywhere but the embedded AWS
is caught there.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from embedded_aws.clients import Clients
from embedded_aws.cluster import Cluster, ClusterFailed
from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.isolation import isolated_environment
from embedded_aws.server import EmbeddedAws

PROJECT = Path(__file__).parents[2]
APP = Path(__file__).parent / "embedded_aws_app" / "app.py"
BIN = Path(sys.executable).parent
NEVER_ASK = ("--require-approval", "never")
SIDE_BY_SIDE = ("--concurrency", "8")
FAILURE = "Lifecycle scripts did not run successfully on instance i-1: no space left"


class Trap:
    """Listens on a port that nothing should ever connect to, and counts who does."""

    def __init__(self) -> None:
        self.visitors: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        while True:
            try:
                visitor, _ = self._socket.accept()
            except OSError:
                return
            visitor.settimeout(2)
            with visitor:
                self.visitors.append(visitor.recv(200).decode(errors="replace"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()


class WatchedPlatform(CloudOnlyPlatform):
    """Looks at the API while it creates a cluster, and lets the one named `doomed` fail."""

    def __init__(self) -> None:
        self.clients: Clients | None = None
        self.seen: dict[str, Any] = {}

    def create(self, cluster: Cluster) -> None:
        super().create(cluster)
        for node in cluster.nodes:
            node.status = "Pending"
        if cluster.name == "doomed":
            raise ClusterFailed(FAILURE)
        self._look(cluster.name)
        for node in cluster.nodes:
            node.status = "Running"

    def _look(self, name: str) -> None:
        assert self.clients is not None
        sagemaker, stacks = self.clients.sagemaker, self.clients.service("cloudformation")
        described = sagemaker.describe_cluster(ClusterName=name)
        nodes = sagemaker.list_cluster_nodes(ClusterName=name)["ClusterNodeSummaries"]
        (stack,) = stacks.describe_stacks(StackName=f"Cluster-{name}")["Stacks"]
        events = stacks.describe_stack_events(StackName=f"Cluster-{name}")["StackEvents"]
        self.seen = {
            "cluster": described["ClusterStatus"],
            "nodes": {node["InstanceStatus"]["Status"] for node in nodes},
            "stack": stack["StackStatus"],
            "last event": (events[0]["ResourceType"], events[0]["ResourceStatus"]),
        }


@dataclass
class Step:
    """One command of the CDK CLI: what it printed, standard error included, and how it ended."""

    exit_status: int
    output: str


@dataclass
class Life:
    """Everything that happened, for tests to look at."""

    aws: EmbeddedAws
    assemblies: Path
    platform: WatchedPlatform
    steps: dict[str, Step] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)

    def cdk(self, step: str, *arguments: str, variant: str = "first") -> Step:
        """Run the CDK CLI on a variant's assembly and remember it as `step`."""
        app = [] if arguments[0] == "bootstrap" else ["--app", str(self.assemblies / variant)]
        done = subprocess.run(
            [PROJECT / "node_modules/.bin/cdk", *arguments, *app, "--ci", "--no-color"],
            env=self.environment(),
            cwd=self.assemblies,
            capture_output=True,
            text=True,
        )
        self.steps[step] = Step(done.returncode, done.stdout + done.stderr)
        return self.steps[step]

    def aws_cli(self, *arguments: str) -> str:
        """Run the AWS CLI and return what it prints."""
        done = subprocess.run(
            [BIN / "aws", *arguments, "--output", "json"],
            env=self.environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def environment(self) -> dict[str, str]:
        """Return the isolated environment, with this project's node first."""
        isolated = isolated_environment(os.environ, self.aws.environment())
        return {**isolated, "PATH": f"{BIN}:{isolated['PATH']}"}


def synthesize_variants(folder: Path, *, account: str, region: str, app: Path = APP) -> None:
    """Synthesize every variant of an app."""
    variables = {"CDK_DEFAULT_ACCOUNT": account, "CDK_DEFAULT_REGION": region}
    path = f"{BIN}:{os.environ['PATH']}"
    subprocess.run(
        [sys.executable, app, folder], env={**os.environ, **variables, "PATH": path}, check=True
    )


def dangerous_variables(home: Path, trap: Trap) -> dict[str, str]:
    """Return the environment of somebody who works with a real account; `home` gets their files."""
    (home / ".aws").mkdir(parents=True)
    (home / ".aws" / "credentials").write_text(
        "[production]\naws_access_key_id = AKIAREALREALREALREAL\naws_secret_access_key = real\n"
    )
    (home / ".aws" / "config").write_text(
        f"[profile production]\nregion = eu-west-1\nendpoint_url = {trap.url}\n"
    )
    return {
        "HOME": str(home),
        "AWS_PROFILE": "production",
        "AWS_ACCESS_KEY_ID": "AKIAREALREALREALREAL",
        "AWS_SECRET_ACCESS_KEY": "real",
        "AWS_SESSION_TOKEN": "real",
        "AWS_REGION": "eu-west-1",
        "AWS_ENDPOINT_URL_S3": trap.url,
        "HTTP_PROXY": trap.url,
        "HTTPS_PROXY": trap.url,
        "http_proxy": trap.url,
        "https_proxy": trap.url,
        "NO_PROXY": "",
    }


def begin(life: Life) -> None:
    """Bootstrap, diff, deploy, diff, deploy again."""
    account, region = life.aws.account, life.aws.region
    life.cdk("bootstrap", "bootstrap", f"aws://{account}/{region}")
    life.cdk("diff before", "diff", "Network")
    life.cdk("deploy", "deploy", "--all", *NEVER_ASK, *SIDE_BY_SIDE)
    life.cdk("diff", "diff", "--all")
    life.cdk("deploy again", "deploy", "--all", *NEVER_ASK)
    life.facts["deployed"] = remember(life)


def end(life: Life) -> None:
    """Update, fail in three ways, destroy as far as AWS lets one, and then the rest."""
    life.cdk("update", "deploy", "--all", *NEVER_ASK, variant="updated")
    life.facts["updated"] = remember(life)
    life.cdk("broken", "deploy", "Network", *NEVER_ASK, variant="broken")
    life.facts["broken"] = remember(life)
    life.cdk("unsupported", "deploy", "Network", *NEVER_ASK, variant="unsupported")
    life.cdk("doomed", "deploy", "Cluster-doomed", "--exclusively", *NEVER_ASK, variant="doomed")
    life.facts["doomed"] = remember(life)
    life.cdk("destroy protected", "destroy", "--all", "--force", variant="updated")
    clients = life.aws.clients()
    clients.service("cloudformation").update_termination_protection(
        StackName="Network", EnableTerminationProtection=False
    )
    life.cdk("destroy blocked", "destroy", "--all", "--force", variant="updated")
    life.facts["blocked"] = remember(life)
    (kept,) = life.facts["blocked"]["file systems"]
    clients.fsx.delete_file_system(FileSystemId=kept["FileSystemId"])
    life.cdk("destroy", "destroy", "--all", "--force", variant="updated")
    life.facts["destroyed"] = remember(life)


def remember(life: Life) -> dict[str, Any]:
    """Return what exists now."""
    clients = life.aws.clients()
    stacks = clients.service("cloudformation").describe_stacks()["Stacks"]
    return {
        "stacks": {stack["StackName"]: stack["StackStatus"] for stack in stacks},
        "outputs": {
            output["OutputKey"]: output["OutputValue"]
            for stack in stacks
            for output in stack.get("Outputs", [])
        },
        "file systems": clients.fsx.describe_file_systems()["FileSystems"],
        "buckets": [bucket["Name"] for bucket in clients.s3.list_buckets()["Buckets"]],
        "log groups": [g["logGroupName"] for g in clients.logs.describe_log_groups()["logGroups"]],
        "clusters": clients.sagemaker.list_clusters()["ClusterSummaries"],
        "vpcs": [v for v in clients.ec2.describe_vpcs()["Vpcs"] if not v["IsDefault"]],
        "interfaces": clients.ec2.describe_network_interfaces(
            Filters=[{"Name": "description", "Values": ["HyperPod cluster*"]}]
        )["NetworkInterfaces"],
    }
