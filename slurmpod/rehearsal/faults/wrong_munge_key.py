"""A worker's munge key is not the cluster's."""

from __future__ import annotations

from slurmpod.rehearsal.faults.cluster import SLURMD_LOG, FaultCluster
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch
from slurmpod.rehearsal.slurmctld_log import SLURMCTLD_LOG

KEY = "/etc/munge/munge.key"
REFUSED = "authentication error: Invalid authentication credential"
_SPOIL = f"head -c 128 /dev/urandom >{KEY} && systemctl restart munge"


def _act(cluster: FaultCluster, watch: Watch) -> None:
    worker = cluster.workers[0]
    bystander = SteadyJob.start(cluster, watch, f"--exclude={worker}")
    log, node_log = cluster.log(cluster.controller, SLURMCTLD_LOG), cluster.log(worker, SLURMD_LOG)
    cluster.root(worker).run(["sh", "-c", _SPOIL])
    watch.injected(f"the munge key of {worker} is another one")
    watch.until("the node says why", lambda: node_log.says(REFUSED), wanted=True)
    watch.noticed(f"slurmd on {worker} refuses what the controller says")
    watch.until("the node is out", lambda: cluster.state(worker), "down*")
    watch.until("it says so", lambda: log.says(f"{worker} not responding"), wanted=True)
    watch.noticed(f"sinfo shows {worker} as down*, {cluster.reason(worker)}")
    bystander.wait_until_it_writes()
    watch.until("HyperPod replaces it", lambda: cluster.state(worker), "idle")
    watch.recovered(f"{worker} was replaced, has the cluster's key and takes jobs again")
    bystander.finish()


FAULT = Fault(
    name="wrong-munge-key",
    title="A worker has a wrong munge key",
    sees="The node is `down*`, `Not responding`, though it runs; commands on it fail with"
    " `Protocol authentication error`. The rest of the cluster is not touched.",
    logged="slurmd.log on the node: `auth_g_verify: REQUEST_PING has authentication error`.",
    recovers="HyperPod, which gives every node the key, replaces the node where NodeRecovery is"
    " Automatic. Else copy the key from another node, and restart munge and slurmd.",
    act=_act,
)
