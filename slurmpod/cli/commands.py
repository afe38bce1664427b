"""The commands of `slurmpod`, in the order in which an environment goes through them.

Each module has `add_arguments(parser)` and `run(arguments) -> ExitCode`.
"""

from typing import NamedTuple


class Command(NamedTuple):
    """A command: the module of this package that implements it, and what it does.

    `brief` commands hold nothing but memory and end within a second; see `startup`. `extra` is the
    extra of pyproject.toml with the packages that a command needs and a bare installation lacks.
    """

    module: str
    summary: str
    brief: bool = False
    extra: str | None = None


COMMANDS = {
    "init": Command("init", "Write the first file of an environment", extra="aws"),
    "validate": Command("validate", "Show every problem of environment files", True),
    "expand": Command("expand", "Show an environment with all it implies", True),
    "render": Command("render", "Write the scripts that nodes will run", True),
    "rehearse": Command(
        "rehearse", "Deploy into an embedded AWS with real Slurm", extra="rehearsal"
    ),
    "rehearsal": Command(
        "kept_rehearsals", "Look around in a rehearsal that is kept", extra="rehearsal"
    ),
    "prepare": Command("prepare", "Make this machine ready for rehearsals", extra="rehearsal"),
    "preflight": Command(
        "preflight", "Show what an account would refuse or lack, before deploying", extra="aws"
    ),
    "capacity": Command("capacity", "Search, buy, show and extend training plans", extra="aws"),
    "plan": Command("plan", "Show what a deployment makes and costs", extra="aws"),
    "report": Command("report", "Write one page: picture, costs, what happened", extra="aws"),
    "diff": Command("diff", "Show what a deployment would change, replace or lose", extra="aws"),
    "deploy": Command("deploy", "Deploy, set nodes up, and see a job run", extra="rehearsal"),
    "migrate": Command("migrate", "Move a live cluster to what has no way back", extra="rehearsal"),
    "destroy": Command("destroy", "Destroy what a deployment made", extra="rehearsal"),
    "status": Command("status", "Show cluster, nodes, jobs, storage, alarms, money", extra="aws"),
    "why": Command(
        "why", "Tell what is wrong with a cluster, node or job, and what to do", extra="aws"
    ),
    "logs": Command("logs", "Show logs of nodes and jobs, or export them", extra="aws"),
    "cost": Command("cost", "Show who used how many node-hours, and their price", extra="aws"),
    "connect": Command("connect", "Open a session on a node of the cluster", extra="aws"),
    "ssh-config": Command("ssh_config", "Make the nodes hosts of ssh, scp and rsync", extra="aws"),
    "lifecycle": Command("lifecycle", "Show how nodes were set up, or do it again", extra="aws"),
    "node": Command("node", "Check, drain, reboot, replace, delete or add nodes", extra="aws"),
    "scale": Command("scale", "Give a group another number of nodes", extra="aws"),
    "patch": Command("patch", "Update the nodes' software, group by group", extra="aws"),
    "backup": Command("backup", "Save the job records of the controller now", extra="aws"),
    "observe": Command("observe", "Compare a live cluster with what rehearsals run", extra="aws"),
    "artefacts": Command("artefacts", "Mirror packages into the environment's bucket", extra="aws"),
    "adopt": Command("adopt", "Take back what an earlier deployment left", extra="aws"),
    "permissions": Command("permissions", "Show what nodes must be allowed to do", extra="aws"),
    "dashboards": Command(
        "dashboards", "Show dashboards, or bring them into Grafana", extra="rehearsal"
    ),
    "job": Command("job", "Render, plan, check, submit and follow jobs", True, extra="aws"),
    "explain": Command("explain", "Explain a rule, or list all rules", True),
    "schema": Command("schema", "Make the JSON Schema for editors", True),
    "completion": Command("completion", "Make the script with which a shell completes commands"),
}
