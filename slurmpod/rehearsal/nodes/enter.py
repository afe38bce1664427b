"""Runs a command inside a machine from outside: joins its cgroup, then its namespaces.

The caller may be the process that owns the machines or any other root process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from slurmpod.rehearsal.nodes import cgroups
from slurmpod.rehearsal.nodes.errors import MachineFailed
from slurmpod.rehearsal.nodes.folder import machines_cgroup

BOUNDING_SET = ",".join(
    f"-{capability}"
    for capability in (
        "sys_module",
        "sys_time",
        "sys_rawio",
        "syslog",
        "wake_alarm",
        "block_suspend",
        "mac_admin",
        "mac_override",
        "audit_control",
        "bpf",
        "perfmon",
    )
)
"""Capabilities that root in a machine must not have, because it shares the host's kernel."""

ENVIRONMENT: Mapping[str, str] = {
    "LANG": "C.UTF-8",
    "PATH": "/opt/slurm/bin:/opt/slurm/sbin"
    ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}
"""A command's default environment; HOME is missing, as under HyperPod's agent."""

_WAIT = ("timeout", "--foreground", "0")
"""Runs a command without a limit and exits with its status. nsenter would do the same, but stops
when the command is stopped, as systemd does to all processes before a machine ends; a stopped
process does not reap the command, and the kernel keeps the machine until it is reaped.
"""

_LOGIN = ("--init-groups", "--reset-env", "--", "env")

_AS_USER = """
user=$1 bounding_set=$2
shift 2
exec setpriv --bounding-set="$bounding_set" --reuid="$user" --regid="$(id -g "$user")" "$@"
"""


def enter_command(
    directory: Path, hostname: str, command: Sequence[str], *, user: str = "root"
) -> list[str]:
    """Return the argv with which root runs `command` in a machine of a running rehearsal.

    The command gets the environment of a login of `user`: home, groups, TERM. `directory` is the
    folder of the machine's network (see `network_of`). Raises MachineFailed if the machine does
    not exist or does not run.
    """
    machines = machines_cgroup(directory)
    if machines is None:
        raise MachineFailed(f"there are no machines in {directory}")
    machine = machines / hostname
    return machine_command(machine, machine / "shell", command, user=user)


def machine_command(
    machine: Path,
    cgroup: Path,
    command: Sequence[str],
    *,
    user: str | None,
    environment: Mapping[str, str] = ENVIRONMENT,
    cwd: str = "/",
) -> list[str]:
    """Return the argv that runs `command` in the machine whose cgroup is `machine`.

    It joins `cgroup`, a child of that one. Without a user, it runs as root with only
    `environment`; with one, `environment` is added to the login's. Raises MachineFailed if the
    machine does not run.
    """
    pid = cgroups.init_pid(machine)
    if pid is None:
        raise MachineFailed(f"{machine.name} is not running")
    variables = (f"{name}={value}" for name, value in environment.items())
    inside = ["--default-signal", f"--chdir={cwd}", *variables]
    namespaces = ["mount", "uts", "ipc", "net", "pid", "cgroup", "time"]
    return cgroups.joined(
        cgroup,
        [
            "nsenter",
            f"--target={pid}",
            *(f"--{namespace}" for namespace in namespaces),
            "--no-fork",
            "--",
            *_WAIT,
            *_with_rights(user, [*inside, *command]),
        ],
    )


def _with_rights(user: str | None, arguments: list[str]) -> list[str]:
    """Return an argv for use inside a machine: `env` with these arguments, run as the user."""
    bounded = ("setpriv", f"--bounding-set={BOUNDING_SET}")
    if user is None:
        return [*bounded, "--", "env", "-i", *arguments]
    if user == "root":
        return [*bounded, "--reuid=root", "--regid=root", *_LOGIN, *arguments]
    return ["sh", "-c", _AS_USER, "sh", user, BOUNDING_SET, *_LOGIN, *arguments]
