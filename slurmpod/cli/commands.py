"""The commands of `slurmpod`, in the order of an environment's life.

Each module has `add_arguments(parser)` and `run(arguments) -> ExitCode`.
"""

from typing import NamedTuple


class Command(NamedTuple):
    """A command: the module of this package that implements it, and its summary.

    `brief` commands need no cleanup and end within a second; see `startup`. `extra` is the extra of
    pyproject.toml with packages that a command needs beyond a bare installation.
    """

    module: str
    summary: str
    brief: bool = False
    extra: str | None = None


COMMANDS = {
    "init": Command("init", "Write the first file of an environment", extra="aws"),
    "validate": Command("validate", "Show every problem of environment files", True),
    "expand": Command("expand", "Show an environment with all defaults resolved", True),
    "render": Command("render", "Write the lifecycle scripts for nodes", True),
    "rehearse": Command(
        "rehearse", "Deploy into an embedded AWS with real Slurm", extra="rehearsal"
    ),
    "rehearsal": Command(
        "kept_rehearsals", "Inspect a rehearsal that is still running", extra="rehearsal"
    ),
    "prepare": Command("prepare", "Prepare this machine for rehearsals", extra="rehearsal"),
    "preflight": Command(
        "preflight", "Check the account's limits and permissions before deploying", extra="aws"
    ),
    "capacity": Command("capacity", "Search, buy, show and extend training plans", extra="aws"),
    "plan": Command("plan", "Show what a deployment creates and costs", extra="aws"),
    "report": Command("report", "Write one page: diagram, costs, last deployment", extra="aws"),
    "diff": Command("diff", "Show what a deployment would change, replace or lose", extra="aws"),
    "deploy": Command("deploy", "Deploy, set up nodes and run a test job", extra="rehearsal"),
    "migrate": Command(
        "migrate", "Make an irreversible change to a live cluster", extra="rehearsal"
    ),
    "destroy": Command("destroy", "Destroy an environment's stacks", extra="rehearsal"),
    "status": Command("status", "Show cluster, nodes, jobs, storage, alarms, money", extra="aws"),
    "why": Command(
        "why", "Explain what is wrong with a cluster, node or job, and the fix", extra="aws"
    ),
    "logs": Command("logs", "Show logs of nodes and jobs, or export them", extra="aws"),
    "cost": Command("cost", "Show node-hours and cost by user or account", extra="aws"),
    "connect": Command("connect", "Open a session on a node of the cluster", extra="aws"),
    "ssh-config": Command("ssh_config", "Write the nodes into your ssh configuration", extra="aws"),
    "lifecycle": Command("lifecycle", "Show or repeat the setup of nodes", extra="aws"),
    "node": Command("node", "Check, drain, reboot, replace, delete or add nodes", extra="aws"),
    "scale": Command("scale", "Change the number of nodes in a group", extra="aws"),
    "patch": Command("patch", "Update the nodes' software, group by group", extra="aws"),
    "backup": Command("backup", "Save the job records of the controller now", extra="aws"),
    "observe": Command("observe", "Compare a live cluster with the rehearsal profile", extra="aws"),
    "artefacts": Command("artefacts", "Mirror packages into the environment's bucket", extra="aws"),
    "adopt": Command("adopt", "Adopt resources of an earlier deployment", extra="aws"),
    "permissions": Command("permissions", "Show the permissions that nodes need", extra="aws"),
    "dashboards": Command(
        "dashboards", "List dashboards, or push them to Grafana", extra="rehearsal"
    ),
    "job": Command("job", "Render, plan, check, submit and follow jobs", True, extra="aws"),
    "explain": Command("explain", "Explain a rule, or list all rules", True),
    "schema": Command("schema", "Print the JSON Schema for editors", True),
    "completion": Command("completion", "Print a shell completion script"),
}
