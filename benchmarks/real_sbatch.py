"""The real sbatch's verdicts on batch scripts, on the cluster of an environment.

slurmctld of a node image runs in separate namespaces, with the slurm.conf that HyperPod and the
lifecycle scripts write for the environment, without slurmd and munge: `sbatch --test-only` needs
none of them. MariaDB and slurmdbd of the image run next to it.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import slurm_accounts
from slurmpod.bundle.slurm_settings import slurm_settings
from slurmpod.environment.catalog import InstanceType, instance_types
from slurmpod.environment.cluster import Role
from slurmpod.platform_profiles.loading import load
from slurmpod.rehearsal.hyperpod.cluster_agent import CORES_OF_ONE_SOCKET, gpu_count
from slurmpod.rehearsal.hyperpod.slurm_conf import (
    GRES_CONF,
    SLURM_CONF,
    TOPOLOGY_CONF,
    Controller,
    SlurmLayout,
    SlurmNode,
    slurm_files,
)
from slurmpod.resolve import Resolved
from slurmpod.resolve.resolved import ResolvedGroup

OWN: Mapping[str, str] = {
    "SlurmUser": "root",
    "AuthType": "auth/none",
    "CredType": "cred/none",
    "SlurmctldLogFile": "/srv/slurmctld.log",
    "StateSaveLocation": "/srv/state",
    "SlurmctldPidFile": "/srv/slurmctld.pid",
    **slurm_accounts.OF_SLURM_CONF,
}
"""Replacements for the cluster's own settings."""

NAMESPACES = ("unshare", "--mount", "--net", "--uts", "--pid", "--fork", "--kill-child")
START = """
mount --make-rprivate / && mount --bind "$1" /mnt && mount --bind "$2" /mnt/srv &&
mount -t proc proc /mnt/proc && mount -t tmpfs tmpfs /mnt/run && mkdir /mnt/run/mysqld &&
ip address add 10.0.0.1/24 dev lo && ip link set lo up &&
hostname controller && exec chroot /mnt sh /srv/judge
"""
JUDGE = f"""
export SLURM_CONF=/srv/slurm.conf
until_it_is_up() {{
    for _ in $(seq 200); do
        if "$@" >/dev/null 2>&1; then return; fi
        kill -0 $! || break
        sleep 0.1
    done
    cat /srv/*.err /srv/*.log >&2
    exit 1
}}
{slurm_accounts.START}
slurmctld -D 2>/srv/slurmctld.err &
until_it_is_up sh -c 'scontrol ping | grep -q UP'
cd /srv/scripts
ls | xargs -P 2 -n 50 setpriv --reuid={slurm_accounts.CALLER} --clear-groups sh -c '
    for script; do
        timeout 20 sbatch --test-only "$script" >/srv/said/"$script" 2>&1
        echo $? >>/srv/said/"$script"
    done' sh
"""
TOO_LATE = 124
"""The exit code of timeout(1)."""


@dataclass(frozen=True)
class Answer:
    """Whether sbatch accepts a script, and its output, which is never empty."""

    takes: bool
    said: str


def answers(image: Path, resolved: Resolved, scripts: Sequence[str]) -> list[Answer]:
    """Return the verdict of a node image's sbatch on each script."""
    with tempfile.TemporaryDirectory() as folder:
        _lay_out(Path(folder), resolved, scripts)
        command = [*NAMESPACES, "sh", "-c", START, "sh", str(image), folder]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"Slurm does not run:\n{done.stderr}")
        said = [Path(folder, "said", _name(number)) for number in range(len(scripts))]
        return [_answer(file.read_text()) for file in said]


def _answer(text: str) -> Answer:
    said, _, code = text.rstrip().rpartition("\n")
    if int(code) == TOO_LATE:
        raise SystemExit(f"sbatch did not end: {said}")
    return Answer(takes=code == "0", said=said)


def _lay_out(folder: Path, resolved: Resolved, scripts: Sequence[str]) -> None:
    folder.chmod(0o755)
    for name in ("state", "said", "scripts"):
        (folder / name).mkdir()
    (folder / "said").chmod(0o777)
    for name, text in configuration(resolved).items():
        (folder / name).write_text(text)
    (folder / "slurmdbd.conf").write_text(slurm_accounts.SLURMDBD_CONF)
    (folder / "slurmdbd.conf").chmod(0o600)
    (folder / "accounts").write_text(slurm_accounts.accounts(resolved))
    (folder / "judge").write_text(JUDGE)
    for number, script in enumerate(scripts):
        (folder / "scripts" / _name(number)).write_bytes(script.encode())


def _name(number: int) -> str:
    return f"{number:06}"


def configuration(resolved: Resolved) -> Mapping[str, str]:
    """Return slurm.conf of a cluster and the files that Slurm reads with it, by name."""
    conf = load().profile.slurm_conf
    layout = SlurmLayout(
        cluster_name=resolved.name,
        controllers=(Controller("controller", "10.0.0.1"),),
        nodes=tuple(_nodes(resolved)),
        partitions=tuple(
            dict.fromkeys(each.partition for each in resolved.groups if each.partition)
        ),
        without_on_create=True,
    )
    files = {path: text.decode() for path, text in slurm_files(layout, conf).items()}
    wanted = slurm_settings(resolved)
    parameters = {**wanted.configuration, **OWN}
    taken = {name.lower() for name in parameters}
    lines = [f"{name}={value}" for name, value in parameters.items()]
    for line in files[SLURM_CONF].splitlines():
        name, _, value = line.partition("=")
        if name == "PartitionName":
            lines.append(_with_limits(line, wanted.partitions.get(value.split()[0], {})))
        elif value and name.lower() not in taken:
            lines.append(line)
    beside = {Path(path).name: files[path] for path in (GRES_CONF, TOPOLOGY_CONF) if path in files}
    return {**beside, "slurm.conf": "".join(f"{line}\n" for line in lines)}


def _nodes(resolved: Resolved) -> Iterator[SlurmNode]:
    addresses = (host for subnet in resolved.network.private if subnet.cidr for host in subnet.cidr)
    for group in resolved.groups:
        for _ in range(group.count if group.role is not Role.CONTROLLER else 0):
            yield _node(group, instance_types()[group.instance_type], str(next(addresses)))


def _node(group: ResolvedGroup, facts: InstanceType, address: str) -> SlurmNode:
    sockets = 1 if facts.cores <= CORES_OF_ONE_SOCKET else 2
    return SlurmNode(
        name=f"ip-{address.replace('.', '-')}",
        address=address,
        sockets=sockets,
        cores_per_socket=facts.cores // sockets,
        threads_per_core=group.threads_per_core,
        memory_mib=facts.memory_mib,
        gpus=gpu_count(group.instance_type),
        partition=group.partition,
    )


def _with_limits(line: str, limits: Mapping[str, str]) -> str:
    kept = [word for word in line.split() if word.partition("=")[0] not in limits]
    return " ".join([*kept, *(f"{name}={value}" for name, value in limits.items())])
