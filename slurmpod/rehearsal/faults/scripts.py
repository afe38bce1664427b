"""Faults around the lifecycle scripts: apt's lock, S3 unavailable, and simultaneous runs.

By default nodes need no package, so the faults around packages provide one, which is empty. It is
mirrored in the cluster's bucket and installed by the lifecycle's code.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from slurmpod.aws.errors import suppressed
from slurmpod.rehearsal.faults.cluster import PROVISIONING_LOG, FaultCluster, NodeLog
from slurmpod.rehearsal.faults.fault import Fault
from slurmpod.rehearsal.faults.interventions import ScriptsRun, find, lose, place_of, scripts_run
from slurmpod.rehearsal.faults.steady_job import SteadyJob
from slurmpod.rehearsal.faults.watch import Watch
from slurmpod.rehearsal.nodes.sandbox import GATEWAY_ADDRESS

PACKAGE_NAME = "slurmpod-fault"

_BUILD = f"""
folder=$(mktemp -d) && mkdir "$folder/DEBIAN" && cat >"$folder/DEBIAN/control" <<'END'
Package: {PACKAGE_NAME}
Version: 1
Architecture: all
Maintainer: nobody <nobody@example.com>
Description: nothing
END
dpkg-deb --build "$folder" "$folder.deb" >&2 && base64 "$folder.deb"
rm -r "$folder" "$folder.deb"
"""

_INSTALL = """
import dataclasses, logging, os, sys
from slurmpod_lifecycle.packages import install_artefact
from slurmpod_lifecycle.identify import Identify
from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.settings import Artefact
from slurmpod_lifecycle.node import resource_config_path
from slurmpod_lifecycle.runner import Runner, State
from slurmpod_lifecycle.settings import SETTINGS, load_settings
from slurmpod_lifecycle.step import Step

name, sha256, mirror = sys.argv[1:]

class Package(Step):
    name = "package"

    def apply(self):
        install_artefact(node, name)
        return f"installed {name}"

logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
identify = Identify(load_settings(SETTINGS), Machine(), resource_config_path(os.environ))
identify.apply()
settings = identify.node.settings
both = tuple(Artefact(name, each, "", sha256, mirror) for each in ("x86_64", "arm64"))
options = dataclasses.replace(settings.node, has_way_out=False, artefacts=both)
node = dataclasses.replace(identify.node, settings=dataclasses.replace(settings, node=options))
(result,) = Runner(300).run([Package()])
print("OK: " if result.state is State.DONE else "FAILED: ", result.detail)
"""
"""The part of the scripts that installs an environment's pinned packages, with our package."""


@dataclass(frozen=True)
class Package:
    """A package in the cluster's bucket, for one node."""

    cluster: FaultCluster
    node: str
    mirror: str
    sha256: str

    @contextmanager
    def installation(self) -> Iterator[ScriptsRun]:
        """Install it in the background, as the scripts do."""
        program = ("python3", "-uc", _INSTALL, PACKAGE_NAME, self.sha256, self.mirror)
        with scripts_run(self.cluster, self.node, *program) as run:
            yield run


@contextmanager
def mirrored_package(cluster: FaultCluster, node: str) -> Iterator[Package]:
    """Put the package next to the cluster's scripts; remove it at the end, also from the node."""
    content = base64.b64decode(cluster.root(node).run(["sh", "-c", _BUILD]))
    place = place_of(cluster, node, f"{PACKAGE_NAME}.deb")
    mirror = f"s3://{place['Bucket']}/{place['Key']}"
    package = Package(cluster, node, mirror, hashlib.sha256(content).hexdigest())
    try:
        cluster.aws.s3.put_object(**place, Body=content)
        yield package
    finally:
        cluster.aws.s3.delete_object(**place)
        cached = f"/var/cache/slurmpod/{package.sha256}.deb"
        cluster.root(node).run(["sh", "-c", f"dpkg --purge {PACKAGE_NAME}; rm -f {cached}"])


_UNREACHABLE = "Could not connect to the endpoint URL"
_REFUSED = "(403) when calling the HeadObject operation: Forbidden"

_ROUTE = ["ip", "route"]
_NO_WAY = ["unreachable", f"{GATEWAY_ADDRESS}/32"]
_REFUSAL = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Deny", "Action": "s3:GetObject", "Resource": "*"}],
    }
)


def _s3_away(cluster: FaultCluster, watch: Watch) -> None:
    """S3 is unreachable, then refuses, then is slow, while scripts run that need it."""
    worker = cluster.workers[0]
    root = cluster.root(worker)
    with mirrored_package(cluster, worker) as package, _reachable_afterwards(cluster, worker):
        root.run([*_ROUTE, "add", *_NO_WAY])
        watch.injected(f"{worker} cannot reach S3")
        with scripts_run(cluster, worker) as scripts:
            scripts.require_success(watch)
        with package.installation() as run:
            watch.until("it waits", lambda: _UNREACHABLE in run.printed(), wanted=True)
            watch.noticed("the scripts themselves succeed; a step that needs S3 waits")
            with _refused(cluster, worker):
                root.run([*_ROUTE, "del", *_NO_WAY])
                watch.until("it waits", lambda: _REFUSED in run.printed(), wanted=True)
                watch.noticed("S3 is reachable and refuses; the step still waits")
                lose(cluster, worker, GATEWAY_ADDRESS)
            connecting = ["ss", "-Htn", "state", "syn-sent", "dst", GATEWAY_ADDRESS]
            watch.until("S3 is slow", lambda: root.run(connecting) != "", wanted=True)
            find(cluster, worker, GATEWAY_ADDRESS)
            watch.repaired("S3 answers")
            run.require_success(watch)
    watch.recovered("the step has installed its package")


@contextmanager
def _reachable_afterwards(cluster: FaultCluster, node: str) -> Iterator[None]:
    """Restore a node's path to S3 when the block ends."""
    try:
        yield
    finally:
        find(cluster, node, GATEWAY_ADDRESS)


@contextmanager
def _refused(cluster: FaultCluster, node: str) -> Iterator[None]:
    """Let S3 refuse the requests of a group's nodes."""
    role = str(cluster.group_of(node)["ExecutionRole"]).rpartition("/")[2]
    named = {"RoleName": role, "PolicyName": "fault"}
    iam = cluster.aws.iam
    try:
        iam.put_role_policy(**named, PolicyDocument=_REFUSAL)
        yield
    finally:
        with suppressed("NoSuchEntity"):
            iam.delete_role_policy(**named)


S3_AWAY = Fault(
    name="s3-away",
    title="S3 is unreachable, refuses or is slow while scripts run",
    sees="Nothing by default: our steps fetch nothing from S3. A node with a package to fetch"
    " takes longer. (HyperPod itself fetches the scripts: a node that cannot get them fails.)",
    logged="The scripts' output, for a new node its stream in CloudWatch Logs: the step waits,"
    " with the AWS CLI's error (`Could not connect to the endpoint URL`, `Forbidden`).",
    recovers="The step retries until its time limit. A checksum other than the pinned one fails"
    " the scripts at once.",
    act=_s3_away,
)


_UNIT = "fault-apt-lock"
_HOLD = """
import fcntl, time
with open("/var/lib/dpkg/lock-frontend", "w") as lock:
    fcntl.lockf(lock, fcntl.LOCK_EX)
    print("held", flush=True)
    time.sleep(3600)
"""
_RELEASE = ["sh", "-c", f"systemctl stop {_UNIT} || true"]


def _apt_locked(cluster: FaultCluster, watch: Watch) -> None:
    """Another installation holds apt's lock while the scripts install a package."""
    worker = cluster.workers[0]
    root = cluster.root(worker)
    with mirrored_package(cluster, worker) as package:
        try:
            root.run(["systemd-run", "--collect", f"--unit={_UNIT}", "python3", "-c", _HOLD])
            said = ["journalctl", f"--unit={_UNIT}", "--output=cat", "--grep=held"]
            watch.until("the lock is held", lambda: root.run(said), "held")
            watch.injected(f"another installation on {worker} holds apt's lock")
            with package.installation() as run:
                waiting = ["pgrep", "--count", "--full", "apt-get.*install"]
                watch.until("apt-get waits for it", lambda: root.run(waiting), "1")
                watch.until("it prints nothing", lambda: "waiting" in run.printed(), wanted=False)
                watch.noticed("the step is busy; apt-get waits for the lock")
                root.run(_RELEASE)
                watch.repaired("the other installation has ended")
                run.require_success(watch)
        finally:
            root.run(_RELEASE)
        status = ["dpkg-query", "--show", "--showformat=${Status}", PACKAGE_NAME]
        watch.until("it is installed", lambda: root.run(status), "install ok installed")
    watch.recovered("the package is installed")


APT_LOCKED = Fault(
    name="apt-locked",
    title="Another installation holds apt's lock",
    sees="Nothing by default: our steps install nothing that the image has. A node with a package"
    " to install takes longer; unattended upgrades hold the lock for minutes on new nodes.",
    logged="The step prints nothing while apt-get waits; when that gives up after four minutes,"
    " the node's stream in CloudWatch Logs has apt's error, with the process that holds the lock.",
    recovers="apt-get continues when the lock is free; the step is retried if that takes too long.",
    act=_apt_locked,
)


_CHANGED = "find /etc /opt/slurm/etc -xdev -newer /run/before -type f"


_ALWAYS_DONE = {"identify", "self_check"}
"""Steps that only check: they are never already done."""


def _scripts_twice(cluster: FaultCluster, watch: Watch) -> None:
    """Run the scripts again on nodes with a job: once, then twice at the same time."""
    for node in (cluster.workers[0], cluster.controller):
        _run_again(cluster, watch, node)


def _run_again(cluster: FaultCluster, watch: Watch, node: str) -> None:
    root, job = cluster.root(node), SteadyJob.start(cluster, watch)
    log = cluster.log(node, PROVISIONING_LOG)
    root.run(["touch", "/run/before"])
    watch.injected(f"the scripts run again on {node}, while a job runs")
    with scripts_run(cluster, node) as once:
        once.require_success(watch)
    with scripts_run(cluster, node) as one, scripts_run(cluster, node) as other:
        for run in (one, other):
            run.require_success(watch)
    watch.until("everything was already done", lambda: _done_again(log), _ALWAYS_DONE)
    watch.until("no file was changed", lambda: root.run(["sh", "-c", _CHANGED]), "")
    watch.until("the job still runs", lambda: job.state, "RUNNING")
    job.wait_until_it_writes()
    watch.recovered("all runs succeeded, no file was changed, the job was not disturbed")
    job.finish()


def _strike_with_scripts(cluster: FaultCluster, watch: Watch, nodes: Sequence[str]) -> None:
    """Run the scripts again on the last node of a job."""
    with scripts_run(cluster, nodes[-1]) as run:
        watch.injected(f"the scripts run again on {nodes[-1]}")
        run.require_success(watch)
    watch.repaired("the scripts succeeded")


def _done_again(log: NodeLog) -> set[str]:
    """Return the steps that were not already done in one of the runs."""
    return set(re.findall(r"^\S+ (\w+): (?!already done)", log.new(), re.MULTILINE))


SCRIPTS_TWICE = Fault(
    name="scripts-twice",
    title="The scripts are run twice on one node",
    sees="Nothing: steps are already done, no configuration file changes, jobs continue.",
    logged="/var/log/provision/provisioning.log on the node: `already done` for every step that"
    " changes anything.",
    recovers="There is nothing to recover, even if two runs overlap.",
    act=_scripts_twice,
    strike=_strike_with_scripts,
)
