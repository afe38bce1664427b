"""Credential faults: a worker whose clock or munge key differs from the cluster's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from slurmpod.platform_profiles.slurm_versions import SlurmVersion
from slurmpod.rehearsal.faults.cluster import SLURMD_LOG, FaultCluster
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch
from slurmpod.rehearsal.slurmctld_log import SLURMCTLD_LOG

_IDLE = (
    " With Slurm 26.05, slurmctld counts the rejection as an answer: the node stays `idle`,"
    " occasionally `idle*`, and jobs allocated to it do not start."
)
_REPLACE = " With Slurm 26.05 a user has to request that: `slurmpod node replace`."


def _see_it_replaced(
    cluster: FaultCluster, watch: Watch, worker: str, bystander: SteadyJob
) -> None:
    """Wait until HyperPod has replaced a worker that rejects the controller's messages."""
    if _is_set_down(cluster):
        watch.until("the node is down", lambda: cluster.state(worker), "down*")
        watch.noticed(f"sinfo shows {worker} as down*, {cluster.reason(worker)}")
        bystander.wait_until_it_writes()
    else:
        bystander.wait_until_it_writes()
        _have_it_replaced(cluster, watch, worker)
    watch.until("HyperPod replaces it", lambda: cluster.state(worker), "idle")


def _is_set_down(cluster: FaultCluster) -> bool:
    """Return whether slurmctld marks a node down that rejects its messages."""
    version = cluster.root(cluster.controller).run(["sinfo", "--version"]).split()[-1]
    return version.startswith(SlurmVersion.V24_11)


def _have_it_replaced(cluster: FaultCluster, watch: Watch, worker: str) -> None:
    """Wait until slurmctld counts a rejection as an answer, then replace the node."""
    log, before = cluster.log(cluster.controller, SLURMCTLD_LOG), cluster.instances()[worker]
    answers = f"Node {worker} now responding"
    watch.until("a rejection counts as an answer", lambda: log.says(answers), wanted=True)
    watch.noticed(f"slurmctld.log repeats: {answers}")
    cluster.replace(worker)
    watch.repaired(f"a user has HyperPod replace {worker}")
    is_new = partial(cluster.has_successor, worker, before)
    watch.until(f"{worker} is another instance", is_new, wanted=True)
    watch.until(f"{worker} is set up", lambda: cluster.is_set_up(worker), wanted=True)


_SKEW = "+20m"
"""munge accepts credentials for five minutes (munged --max-ttl allows at most 1 h)."""

_LIBRARY = "/usr/lib/*/faketime/libfaketime.so.1"
_DROP_IN = "/run/systemd/system/munge.service.d/skew.conf"
_SET_CLOCK = f"""
mkdir -p "$(dirname {_DROP_IN})"
printf '[Service]\\nEnvironment=LD_PRELOAD=%s FAKETIME={_SKEW}\\n' {_LIBRARY} >{_DROP_IN}
systemctl daemon-reload
systemctl restart munge
"""


def _clock_skew(cluster: FaultCluster, watch: Watch) -> None:
    """The clock of a worker is off by more than the lifetime of Slurm's credentials.

    A clock cannot be set in a namespace, so libfaketime gives munge, whose credentials contain
    the time, a different one.
    """
    worker = cluster.workers[0]
    bystander = SteadyJob.start(cluster, watch, f"--exclude={worker}")
    node_log = cluster.log(worker, SLURMD_LOG)
    _set_clock(cluster, watch, worker)
    watch.until("the node logs why", lambda: node_log.says("Expired credential"), wanted=True)
    watch.noticed(f"slurmd on {worker} rejects the controller's messages: Expired credential")
    _see_it_replaced(cluster, watch, worker, bystander)
    watch.recovered(f"{worker} was replaced and accepts jobs again")
    bystander.finish()


def _set_clock(cluster: FaultCluster, watch: Watch, worker: str) -> None:
    cluster.root(worker).run(["sh", "-c", _SET_CLOCK])
    watch.injected(f"the clock of munge on {worker} is ahead by 20 minutes")


def _strike_clock(cluster: FaultCluster, watch: Watch, nodes: Sequence[str]) -> None:
    _set_clock(cluster, watch, nodes[-1])
    if not _is_set_down(cluster):
        _have_it_replaced(cluster, watch, nodes[-1])


CLOCK_SKEW = Fault(
    name="clock-skew",
    title="A worker's clock is wrong",
    sees="The node is `down*`, `Not responding`, though it runs. The rest of the cluster is not"
    f" affected.{_IDLE}",
    logged="slurmd.log on the node, or slurmctld.log: `Expired credential` for a clock that is"
    " ahead, `Rewound credential` for one that is behind, each by more than five minutes.",
    recovers="HyperPod replaces the node if NodeRecovery is Automatic. Otherwise set the clock"
    f" (`chronyc makestep`) and restart munge and slurmd.{_REPLACE}",
    act=_clock_skew,
    strike=_strike_clock,
)


_KEY = "/etc/munge/munge.key"
_REFUSED = "authentication error: Invalid authentication credential"
_SPOIL = f"head -c 128 /dev/urandom >{_KEY} && systemctl restart munge"


def _wrong_munge_key(cluster: FaultCluster, watch: Watch) -> None:
    """Give a worker a munge key that is not the cluster's."""
    worker = cluster.workers[0]
    bystander = SteadyJob.start(cluster, watch, f"--exclude={worker}")
    node_log = cluster.log(worker, SLURMD_LOG)
    _spoil_key(cluster, watch, worker)
    watch.until("the node logs why", lambda: node_log.says(_REFUSED), wanted=True)
    watch.noticed(f"slurmd on {worker} rejects the controller's messages")
    _see_it_replaced(cluster, watch, worker, bystander)
    watch.recovered(f"{worker} was replaced, has the cluster's key and accepts jobs again")
    bystander.finish()


def _spoil_key(cluster: FaultCluster, watch: Watch, worker: str) -> None:
    cluster.root(worker).run(["sh", "-c", _SPOIL])
    watch.injected(f"the munge key of {worker} is wrong")


def _strike_key(cluster: FaultCluster, watch: Watch, nodes: Sequence[str]) -> None:
    _spoil_key(cluster, watch, nodes[-1])
    if not _is_set_down(cluster):
        _have_it_replaced(cluster, watch, nodes[-1])


WRONG_MUNGE_KEY = Fault(
    name="wrong-munge-key",
    title="A worker has a wrong munge key",
    sees="The node is `down*`, `Not responding`, though it runs; commands on it fail with"
    f" `Protocol authentication error`. The rest of the cluster is not affected.{_IDLE}",
    logged="slurmd.log on the node: `auth_g_verify: REQUEST_PING has authentication error`.",
    recovers="HyperPod, which gives every node the key, replaces the node if NodeRecovery is"
    " Automatic. Otherwise copy the key from another node, and restart munge and"
    f" slurmd.{_REPLACE}",
    act=_wrong_munge_key,
    strike=_strike_key,
)
