"""Faults of credentials: a worker whose clock or munge key is not that of the cluster."""

from __future__ import annotations

from collections.abc import Sequence

from slurmpod.rehearsal.faults.cluster import SLURMD_LOG, FaultCluster
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch
from slurmpod.rehearsal.slurmctld_log import SLURMCTLD_LOG

_SKEW = "+20m"
"""munge takes credentials for five minutes (munged --max-ttl lets nobody ask for more than 1 h)."""

_LIBRARY = "/usr/lib/*/faketime/libfaketime.so.1"
_DROP_IN = "/run/systemd/system/munge.service.d/skew.conf"
_SET_CLOCK = f"""
mkdir -p "$(dirname {_DROP_IN})"
printf '[Service]\\nEnvironment=LD_PRELOAD=%s FAKETIME={_SKEW}\\n' {_LIBRARY} >{_DROP_IN}
systemctl daemon-reload
systemctl restart munge
"""


def _clock_skew(cluster: FaultCluster, watch: Watch) -> None:
    """The clock of a worker is wrong by more than Slurm's credentials live.

    A clock cannot be set in a namespace, so libfaketime tells munge, whose credentials carry the
    time, another one.
    """
    worker = cluster.workers[0]
    bystander = SteadyJob.start(cluster, watch, f"--exclude={worker}")
    node_log = cluster.log(worker, SLURMD_LOG)
    _strike_clock(cluster, watch, (worker,))
    watch.until("the node says why", lambda: node_log.says("Expired credential"), wanted=True)
    watch.noticed(f"slurmd on {worker} refuses what the controller says: Expired credential")
    watch.until("the node is out", lambda: cluster.state(worker), "down*")
    watch.noticed(f"sinfo shows {worker} as down*, {cluster.reason(worker)}")
    bystander.wait_until_it_writes()
    watch.until("HyperPod replaces it", lambda: cluster.state(worker), "idle")
    watch.recovered(f"{worker} was replaced and takes jobs again")
    bystander.finish()


def _strike_clock(cluster: FaultCluster, watch: Watch, nodes: Sequence[str]) -> None:
    cluster.root(nodes[-1]).run(["sh", "-c", _SET_CLOCK])
    watch.injected(f"the clock of munge on {nodes[-1]} is ahead by 20 minutes")


CLOCK_SKEW = Fault(
    name="clock-skew",
    title="The clock of a worker is wrong",
    sees="The node is `down*`, `Not responding`, though it runs. The rest of the cluster is not"
    " touched.",
    logged="slurmd.log on the node, or slurmctld.log: `Expired credential` for a clock that is"
    " ahead, `Rewound credential` for one that is behind, each by more than five minutes.",
    recovers="HyperPod replaces the node where NodeRecovery is Automatic. Else set the clock"
    " (`chronyc makestep`) and restart munge and slurmd.",
    act=_clock_skew,
    strike=_strike_clock,
)


_KEY = "/etc/munge/munge.key"
_REFUSED = "authentication error: Invalid authentication credential"
_SPOIL = f"head -c 128 /dev/urandom >{_KEY} && systemctl restart munge"


def _wrong_munge_key(cluster: FaultCluster, watch: Watch) -> None:
    """A worker's munge key is not the cluster's."""
    worker = cluster.workers[0]
    bystander = SteadyJob.start(cluster, watch, f"--exclude={worker}")
    log, node_log = cluster.log(cluster.controller, SLURMCTLD_LOG), cluster.log(worker, SLURMD_LOG)
    _strike_key(cluster, watch, (worker,))
    watch.until("the node says why", lambda: node_log.says(_REFUSED), wanted=True)
    watch.noticed(f"slurmd on {worker} refuses what the controller says")
    watch.until("the node is out", lambda: cluster.state(worker), "down*")
    watch.until("it says so", lambda: log.says(f"{worker} not responding"), wanted=True)
    watch.noticed(f"sinfo shows {worker} as down*, {cluster.reason(worker)}")
    bystander.wait_until_it_writes()
    watch.until("HyperPod replaces it", lambda: cluster.state(worker), "idle")
    watch.recovered(f"{worker} was replaced, has the cluster's key and takes jobs again")
    bystander.finish()


def _strike_key(cluster: FaultCluster, watch: Watch, nodes: Sequence[str]) -> None:
    cluster.root(nodes[-1]).run(["sh", "-c", _SPOIL])
    watch.injected(f"the munge key of {nodes[-1]} is another one")


WRONG_MUNGE_KEY = Fault(
    name="wrong-munge-key",
    title="A worker has a wrong munge key",
    sees="The node is `down*`, `Not responding`, though it runs; commands on it fail with"
    " `Protocol authentication error`. The rest of the cluster is not touched.",
    logged="slurmd.log on the node: `auth_g_verify: REQUEST_PING has authentication error`.",
    recovers="HyperPod, which gives every node the key, replaces the node where NodeRecovery is"
    " Automatic. Else copy the key from another node, and restart munge and slurmd.",
    act=_wrong_munge_key,
    strike=_strike_key,
)
