"""Network faults: a short or long cut between a worker and the controller, and lost names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from slurmpod.rehearsal.faults.cluster import PROVISIONING_LOG, FaultCluster
from slurmpod.rehearsal.faults.fault import Fault, Need
from slurmpod.rehearsal.faults.interventions import cut_network, scripts_run
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch
from slurmpod.rehearsal.shell import CommandFailed
from slurmpod.rehearsal.slurmctld_log import SLURMCTLD_LOG

_SILENT = "not responding"


def _network_cut(cluster: FaultCluster, watch: Watch) -> None:
    """A worker and the controller do not reach each other, for less than Slurm's timeout."""
    worker = cluster.workers[0]
    job = SteadyJob.start(cluster, watch, f"--nodelist={worker}")
    bystander = SteadyJob.start(cluster, watch, f"--exclude={worker}")
    log = cluster.log(cluster.controller, SLURMCTLD_LOG)
    with cut_network(cluster, worker, cluster.controller):
        watch.injected(f"{worker} and the controller do not reach each other")
        watch.until("commands there fail", lambda: _answers(cluster, worker), wanted=False)
        watch.noticed(f"squeue on {worker} fails; its job continues")
        job.wait_until_it_writes()
        watch.until("sinfo shows it as before", lambda: cluster.is_busy(worker), wanted=True)
    watch.repaired("the network is restored before SlurmdTimeout")
    watch.until("commands there work", lambda: _answers(cluster, worker), wanted=True)
    watch.until("the node answers", lambda: cluster.is_busy(worker), wanted=True)
    watch.until("the job was not affected", lambda: (job.state, job.restarts), ("RUNNING", 0))
    watch.until("nothing about it is logged", lambda: log.says(_SILENT), wanted=False)
    watch.recovered(f"{worker} answers; its job was never disturbed")
    for each in (job, bystander):
        each.wait_until_it_writes()
        each.finish()


_CUT_SECONDS = 10.0


def _strike_briefly(cluster: FaultCluster, watch: Watch, nodes: Sequence[str]) -> None:
    """Disconnect the last node of a job from the controller for some seconds."""
    worker = nodes[-1]
    with cut_network(cluster, worker, cluster.controller):
        watch.injected(f"{worker} and the controller do not reach each other")
        watch.hold("the network is cut", min(_CUT_SECONDS, cluster.slurmd_timeout() / 3))
    watch.repaired("the network is restored before SlurmdTimeout")


def _answers(cluster: FaultCluster, node: str) -> bool:
    """Return whether Slurm's commands reach the controller from a node."""
    try:
        cluster.root(node).run(["timeout", "2", "squeue", "--noheader"])
    except CommandFailed:
        return False
    return True


NETWORK_CUT = Fault(
    name="network-cut",
    title="The network between a worker and the controller is cut briefly",
    sees="Slurm's commands on that node fail. Its jobs continue, and `sinfo` shows it as before.",
    logged="Nothing: slurmctld.log names a node (`Nodes ... not responding`) only after waiting"
    " for it without success.",
    recovers="Automatically, if the network is back before SlurmdTimeout (300 s unless you set"
    " it).",
    act=_network_cut,
    strike=_strike_briefly,
)


_GIVEN_UP = "Nodes {} not responding, setting DOWN"
_NO_CONTROLLER = "slurmd: waiting: the controller does not answer"


def _network_lost(cluster: FaultCluster, watch: Watch) -> None:
    """A worker and the controller do not reach each other for longer than Slurm's timeout."""
    worker, before = cluster.workers[0], cluster.instances()[cluster.workers[0]]
    job = SteadyJob.start(cluster, watch, f"--nodelist={worker}")
    bystander = SteadyJob.start(cluster, watch, f"--exclude={worker}")
    log = cluster.log(cluster.controller, SLURMCTLD_LOG)
    with cut_network(cluster, worker, cluster.controller):
        watch.injected(f"{worker} and the controller do not reach each other")
        watch.until("Slurm requeues its job", lambda: job.restarts, 1)
        watch.until("its log says so", lambda: log.says(_GIVEN_UP.format(worker)), wanted=True)
        watch.until("and the reason", lambda: log.says(job.requeued_from(worker)), wanted=True)
        watch.noticed(f"{worker} is down, its job is requeued")
        watch.until("it is replaced", lambda: cluster.has_successor(worker, before), wanted=True)
        watch.until(
            "its replacement waits",
            lambda: cluster.scripts_said(worker, _NO_CONTROLLER),
            wanted=True,
        )
        watch.noticed("the scripts of the node's replacement wait for the controller")
        bystander.wait_until_it_writes()
    watch.repaired("the network is restored")
    watch.until("the node is set up", lambda: cluster.is_set_up(worker), wanted=True)
    job.wait_until_it_runs()
    watch.recovered("the job runs there again")
    for each in (job, bystander):
        each.finish()


def _strike_for_long(cluster: FaultCluster, watch: Watch, nodes: Sequence[str]) -> None:
    """Disconnect the last node of a job from the controller until Slurm marks it down."""
    worker = nodes[-1]
    with cut_network(cluster, worker, cluster.controller):
        watch.injected(f"{worker} and the controller do not reach each other")
        watch.until("Slurm marks it down", lambda: cluster.is_down(worker), wanted=True)
        watch.noticed(f"sinfo shows {worker} as down")
    watch.repaired("the network is restored")


NETWORK_LOST = Fault(
    name="network-lost",
    title="The network between a worker and the controller is cut for long, then restored",
    sees="After SlurmdTimeout (300 s unless you set it) the node is `down*`, `Not responding`, and"
    " its jobs are requeued. Jobs on other nodes are not affected.",
    logged="slurmctld.log: `Nodes ... not responding, setting DOWN` and `requeue job ... due to"
    " failure of node ...`; the new instance's stream in CloudWatch Logs: `slurmd: waiting: the"
    " controller does not answer at ...`.",
    recovers="HyperPod replaces the node if NodeRecovery is Automatic, and the new one joins once"
    " the network is back. Otherwise the node returns automatically, but slurmctld checks down"
    " nodes only at every 20th of its pings (at intervals of a third of SlurmdTimeout); `scontrol"
    " update nodename=... state=resume` returns it at once.",
    act=_network_lost,
    strike=_strike_for_long,
    need=Need.CUSTOMER,
)


_NO_FILE_SYSTEM = "mount_fsx: waiting: "
_UNRESOLVED = "Can't parse NID"
"""The error of Lustre's mount for a server whose name does not resolve."""

_SERVERS = "/run/machine/file-systems/lustre"
_FORGET = f"cp -p /etc/hosts /run/hosts && : >/etc/hosts && mount -t tmpfs none {_SERVERS}"
_REMEMBER = f"""
if [ -s /run/hosts ]; then cat /run/hosts >/etc/hosts; rm /run/hosts; fi
if mountpoint --quiet {_SERVERS}; then umount {_SERVERS}; fi
"""


def _names_gone(cluster: FaultCluster, watch: Watch) -> None:
    """No name resolves for a while, as when the resolver restarts."""
    worker, other = cluster.workers[:2]
    running = SteadyJob.start(cluster, watch, f"--nodelist={other}")
    with _no_names(cluster) as remember:
        watch.injected("no node can resolve a name")
        cluster.root(worker).run(["umount", str(cluster.shared)])
        log = cluster.log(worker, PROVISIONING_LOG)
        with scripts_run(cluster, worker) as run:
            watch.until("the scripts wait", lambda: log.says(_NO_FILE_SYSTEM), wanted=True)
            watch.until("they log why", lambda: log.says(_UNRESOLVED), wanted=True)
            watch.noticed("the scripts on a node without its file system wait")
            running.wait_until_it_writes()
            running.finish()
            SteadyJob.start(cluster, watch, f"--nodelist={other}").finish()
            remember()
            watch.repaired("names resolve again")
            run.require_success(watch)
    watch.recovered("the scripts continued where they were")
    SteadyJob.start(cluster, watch, f"--nodelist={worker}").finish()


@contextmanager
def _no_names(cluster: FaultCluster) -> Iterator[Callable[[], None]]:
    """Block name resolution on all nodes until the yielded function is called or the block ends."""
    with ExitStack() as undo:
        for node in map(cluster.root, cluster.nodes):
            undo.callback(node.run, ["sh", "-c", _REMEMBER])
            node.run(["sh", "-c", _FORGET])
        yield undo.close


NAMES_GONE = Fault(
    name="names-gone",
    title="DNS restarts while scripts run",
    sees="Nothing on a cluster in service: Slurm's nodes know each other by address, and mounts"
    " stay. A node whose scripts are running takes longer.",
    logged="/var/log/provision/provisioning.log on the node: `mount_fsx: waiting: ... Can't parse"
    " NID`; for a new node, also its stream in CloudWatch Logs.",
    recovers="The scripts retry until names resolve, then continue where they were.",
    act=_names_gone,
    need=Need.CUSTOMER,
)
