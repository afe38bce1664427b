"""`slurmpod ssh-config`: the nodes as ssh hosts, through Session Manager."""

from __future__ import annotations

import argparse
import dataclasses
import getpass
import shlex
import shutil
from pathlib import Path

from slurmpod.aws.cluster import ClusterView
from slurmpod.cli.connect import has_plugin
from slurmpod.cli.live_cluster import live_cluster
from slurmpod.cli.output import print_json, say
from slurmpod.operations.connect import usual_group
from slurmpod.operations.ssh_config import (
    INCLUDE,
    config_text,
    hosts_of,
    include,
    is_included,
    require_unrecorded,
    user_of,
    write_config,
)
from slurmpod.problems import ExitCode, counted

AWS_CLI = "https://docs.aws.amazon.com/cli/latest/userguide/getting-started-install.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument("--user", help="user of the environment (default: your local user name)")
    parser.add_argument(
        "--include", action="store_true", help="also include the file in ~/.ssh/config"
    )
    parser.add_argument("--json", action="store_true", help="print the hosts as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """Write the file with the hosts, and print how ssh uses it."""
    if not (has_plugin() and _has_aws_cli()):
        return ExitCode.FAILED
    cluster = live_cluster(options.file)
    resolved = cluster.resolved
    require_unrecorded(resolved)
    user = user_of(resolved, options.user, getpass.getuser())
    cluster_id = ClusterView(cluster.clients).cluster_id(resolved.name)
    hosts = hosts_of(resolved, cluster_id, cluster.nodes)
    folder = Path.home() / ".ssh"
    file = write_config(folder, resolved.name, config_text(resolved, hosts, user))
    say(f"{file}: {counted(len(hosts), 'host')}, as {user}")
    if options.include and not is_included(folder):
        include(folder)
    if options.json:
        print_json([dataclasses.asdict(host) for host in hosts])
    if not is_included(folder):
        say(f"ssh does not read it yet: add '{INCLUDE}' as the first line of {folder}/config,")
        path = shlex.quote(str(options.file))
        say(f"or run: slurmpod ssh-config {path} --user {shlex.quote(user)} --include")
    elif hosts:
        names = [alias for host in hosts for alias in host.aliases]
        usual = f"{resolved.name}-{usual_group(resolved)}"
        say(f"next: ssh {usual if usual in names else names[0]}")
    return ExitCode.OK


def _has_aws_cli() -> bool:
    """Return whether ssh finds the programs of its proxy command; print what is missing if not."""
    found = shutil.which("aws") is not None
    if not found:
        say(f"ssh needs the AWS CLI to reach nodes, and 'aws' is not installed: {AWS_CLI}")
    return found
