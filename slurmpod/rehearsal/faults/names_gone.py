"""No name resolves for a while, as when the resolver is restarted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from slurmpod.rehearsal.faults.cluster import PROVISIONING_LOG, FaultCluster
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.interventions import scripts_run
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch

SAYS = "mount_fsx: waiting: "
UNRESOLVED = "Can't parse NID"
"""What Lustre's mount says for a server whose name does not resolve."""

SERVERS = "/run/machine/file-systems/lustre"
_FORGET = f"cp -p /etc/hosts /run/hosts && : >/etc/hosts && mount -t tmpfs none {SERVERS}"
_REMEMBER = f"""
if [ -s /run/hosts ]; then cat /run/hosts >/etc/hosts; rm /run/hosts; fi
if mountpoint --quiet {SERVERS}; then umount {SERVERS}; fi
"""


def _act(cluster: FaultCluster, watch: Watch) -> None:
    worker, other = cluster.workers[:2]
    running = SteadyJob.start(cluster, watch, f"--nodelist={other}")
    with _no_names(cluster) as remember:
        watch.injected("no node can resolve a name")
        cluster.root(worker).run(["umount", str(cluster.shared)])
        log = cluster.log(worker, PROVISIONING_LOG)
        with scripts_run(cluster, worker) as run:
            watch.until("the scripts wait", lambda: log.says(SAYS), wanted=True)
            watch.until("they say why", lambda: log.says(UNRESOLVED), wanted=True)
            watch.noticed("the scripts on a node without its file system wait")
            SteadyJob.start(cluster, watch, f"--nodelist={other}").finish()
            running.wait_until_it_writes()
            remember()
            watch.mended("names resolve again")
            run.require_success(watch)
    watch.recovered("the scripts went on from where they were")
    both = SteadyJob.start(cluster, watch, f"--nodelist={worker}")
    for job in (running, both):
        job.finish()


@contextmanager
def _no_names(cluster: FaultCluster) -> Iterator[Callable[[], None]]:
    """Let no node resolve a name until what this gives is called, or the block ends."""
    with ExitStack() as undo:
        for node in map(cluster.root, cluster.nodes):
            undo.callback(node.run, ["sh", "-c", _REMEMBER])
            node.run(["sh", "-c", _FORGET])
        yield undo.close


FAULT = Fault(
    name="names-gone",
    title="DNS is restarted in the middle",
    sees="Nothing on a cluster in service: Slurm's nodes know each other by address, and what is"
    " mounted stays. A node whose scripts run then takes longer.",
    logged="/var/log/provision/provisioning.log on the node: `mount_fsx: waiting: ... Can't parse"
    " NID`; of a new node, its stream in CloudWatch Logs, too.",
    recovers="The scripts try again until names resolve, then go on from where they were.",
    act=_act,
    customer_mode_only=True,
)
