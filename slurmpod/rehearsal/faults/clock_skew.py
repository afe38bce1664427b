"""The clock of a worker is wrong by more than Slurm's credentials live.

A clock cannot be set in a namespace, so libfaketime tells munge, whose credentials carry the time,
another one.
"""

from __future__ import annotations

from slurmpod.rehearsal.faults.cluster import SLURMD_LOG, FaultCluster
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch

SKEW = "+20m"
"""munge takes credentials for five minutes (munged --max-ttl lets nobody ask for more than 1 h)."""

_LIBRARY = "/usr/lib/*/faketime/libfaketime.so.1"
_DROP_IN = "/run/systemd/system/munge.service.d/skew.conf"
_SKEW = f"""
mkdir -p "$(dirname {_DROP_IN})"
printf '[Service]\\nEnvironment=LD_PRELOAD=%s FAKETIME={SKEW}\\n' {_LIBRARY} >{_DROP_IN}
systemctl daemon-reload
systemctl restart munge
"""


def _act(cluster: FaultCluster, watch: Watch) -> None:
    worker = cluster.workers[0]
    bystander = SteadyJob.start(cluster, watch, f"--exclude={worker}")
    node_log = cluster.log(worker, SLURMD_LOG)
    cluster.root(worker).run(["sh", "-c", _SKEW])
    watch.injected(f"the clock of munge on {worker} is ahead by 20 minutes")
    watch.until("the node says why", lambda: node_log.says("Expired credential"), wanted=True)
    watch.noticed(f"slurmd on {worker} refuses what the controller says: Expired credential")
    watch.until("the node is out", lambda: cluster.state(worker), "down*")
    watch.noticed(f"sinfo shows {worker} as down*, {cluster.reason(worker)}")
    bystander.wait_until_it_writes()
    watch.until("HyperPod replaces it", lambda: cluster.state(worker), "idle")
    watch.recovered(f"{worker} was replaced and takes jobs again")
    bystander.finish()


FAULT = Fault(
    name="clock-skew",
    title="The clock of a worker is wrong",
    sees="The node is `down*`, `Not responding`, though it runs. The rest of the cluster is not"
    " touched.",
    logged="slurmd.log on the node, or slurmctld.log: `Expired credential` for a clock that is"
    " ahead, `Rewound credential` for one that is behind, each by more than five minutes.",
    recovers="HyperPod replaces the node where NodeRecovery is Automatic. Else set the clock"
    " (`chronyc makestep`) and restart munge and slurmd.",
    act=_act,
)
