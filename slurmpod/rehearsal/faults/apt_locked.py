"""Another installation holds apt's lock while the scripts install a package."""

from __future__ import annotations

from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.package import NAME, mirrored_package
from slurmpod.rehearsal.faults.watch import Watch

UNIT = "fault-apt-lock"
_HOLD = """
import fcntl, time
with open("/var/lib/dpkg/lock-frontend", "w") as lock:
    fcntl.lockf(lock, fcntl.LOCK_EX)
    print("held", flush=True)
    time.sleep(3600)
"""
_RELEASE = ["sh", "-c", f"systemctl stop {UNIT} || true"]


def _act(cluster: FaultCluster, watch: Watch) -> None:
    worker = cluster.workers[0]
    root = cluster.root(worker)
    with mirrored_package(cluster, worker) as package:
        try:
            root.run(["systemd-run", "--collect", f"--unit={UNIT}", "python3", "-c", _HOLD])
            said = ["journalctl", f"--unit={UNIT}", "--output=cat", "--grep=held"]
            watch.until("the lock is held", lambda: root.run(said), "held")
            watch.injected(f"another installation on {worker} holds apt's lock")
            with package.installation() as run:
                waiting = ["pgrep", "--count", "--full", "apt-get.*install"]
                watch.until("apt-get waits for it", lambda: root.run(waiting), "1")
                watch.until("it says nothing", lambda: "waiting" in run.printed(), wanted=False)
                watch.noticed("the step is busy; apt-get waits for the lock")
                root.run(_RELEASE)
                watch.mended("the other installation has ended")
                run.require_success(watch)
        finally:
            root.run(_RELEASE)
        status = ["dpkg-query", "--show", "--showformat=${Status}", NAME]
        watch.until("it is installed", lambda: root.run(status), "install ok installed")
    watch.recovered("the package is installed")


FAULT = Fault(
    name="apt-locked",
    title="Another installation holds apt's lock",
    sees="Nothing by default: our steps install nothing that the image has. A node with a package"
    " to install takes longer; unattended upgrades hold the lock for minutes on new nodes.",
    logged="The step says nothing while apt-get waits; when that gives up after four minutes, the"
    " node's stream in CloudWatch Logs has apt's own words, with the process that holds the lock.",
    recovers="apt-get goes on when the lock is free; the step is tried again if that takes too"
    " long.",
    act=_act,
)
