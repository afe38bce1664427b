"""Jobs that start while HyperPod or slurmpod makes Slurm read its configuration again.

Every `scontrol reconfigure` is a start of slurmctld, which sends all files to the nodes again and
makes each slurmd restart itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slurmpod.rehearsal.hyperpod.slurm_conf import SLURM_CONF
from slurmpod.rehearsal.shell import Shell
from slurmpod_lifecycle.health_programs import COMMAND
from tests.nodes.conftest import wait_until
from tests.nodes.hyperpod_lab import BUCKET, KEEPER_STATE, HyperPodLab, group, hostname
from tests.nodes.test_lifecycle_bundles import customer_group, upload
from tests.search_depth import cases

ENVIRONMENT = """
name: anew
account: "123456789012"
region: us-west-2
network: {{zone: us-west-2a}}
cluster:
  groups:
    - {{name: head, role: controller, instance_type: ml.m5.large}}
    - {{name: cpu, role: worker, instance_type: ml.m5.24xlarge, count: 2, partition: cpu}}
slurm:
  settings: {{SlurmdTimeout: 250}}
lifecycle: {{health_checks: true, mode: {mode}}}
"""
JOBS = cases(usual=60, deep=1000)
RECONFIGURATIONS = cases(usual=6, deep=100)
SIDE_BY_SIDE = 5

RUN_JOBS = f"""
PATH=/opt/slurm/bin:$PATH
cd /tmp
for each in $(seq {SIDE_BY_SIDE}); do
    for number in $(seq {JOBS // SIDE_BY_SIDE}); do
        srun --quiet --partition=cpu --ntasks=1 true || echo "$? of job $number of $each"
    done >jobs.$each 2>&1 &
    jobs="$jobs $!"
done
for number in $(seq {RECONFIGURATIONS}); do
    scontrol reconfigure || echo "not reconfigured"
    sleep 2
done >reconfigurations 2>&1
wait $jobs
cat reconfigurations jobs.* >ended
"""
"""More cores than jobs: none of them waits for resources, which would take much longer."""

COUNT = """\
#!/bin/sh
echo "$1" >>/run/checked
"""
"""Replaces the checks: many jobs would only wait for Python."""

HOLD = """
import os, sys, time
folder = "/var/spool/slurmd/conf-cache"
held = [open(f"{folder}/{name}", "a") for name in os.listdir(folder)]
print(len(held), flush=True)
sys.stdin.read()
"""


class Cluster:
    """A controller and two workers."""

    def __init__(self, lab: HyperPodLab, entry: str, groups: list[dict[str, Any]]) -> None:
        self.head = lab.shell("anew", "head", user="root")
        names = sorted(hostname(node) for node in lab.nodes("anew", "cpu"))
        self.workers = [Shell(lab.folder, name, "root") for name in names]
        self.entry = entry
        self._lab, self._groups = lab, groups

    def run(self, shell: Shell, command: str) -> str:
        return shell.run(["sh", "-c", f"PATH=/opt/slurm/bin:$PATH; {command}"])

    def scale(self, count: int) -> None:
        """Let HyperPod change the number of nodes of the workers' group."""
        head, workers = self._groups
        groups = [{**head}, {**workers, "InstanceCount": count}]
        assert self._lab.update("anew", groups).get("FailureMessage") is None
        self.wait_for_workers(count)

    def wait_for_workers(self, count: int) -> None:
        idle = "sinfo --noheader --partition=cpu --format='%D %T'"
        wait_until(lambda: self.run(self.head, idle) == f"{count} idle", "the workers")

    def starts(self) -> int:
        """Return how often slurmctld has started, by itself as well."""
        count = "grep -c 'slurmctld version .* started' /var/log/slurm/slurmctld.log"
        return int(self.run(self.head, count))

    def run_scripts(self) -> str:
        """Run the scripts on the controller, and return their last line."""
        ran = self.run(self.head, f"cd /tmp/{BUCKET}/anew && bash ./{self.entry} 2>&1")
        return ran.splitlines()[-1]


@pytest.fixture(scope="module", params=cases(usual=("extended",), deep=("customer", "extended")))
def cluster(
    request: pytest.FixtureRequest, image: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """A cluster of either mode; with `extended`, slurmd exists before our scripts run."""
    with HyperPodLab(tmp_path_factory.mktemp("lab"), image) as lab:
        uri = upload(lab, ENVIRONMENT.format(mode=request.param))
        if request.param == "customer":
            groups = [customer_group("head", uri), customer_group("cpu", uri, 2)]
        else:
            common: dict[str, Any] = {
                "LifeCycleConfig": {"SourceS3Uri": uri, "OnInitComplete": "on_init_complete.sh"},
                "InstanceStorageConfigs": [lab.lustre_storage],
            }
            groups = [group("head", "Controller", **common), group("cpu", "Compute", 2, **common)]
        groups[1]["InstanceType"] = "ml.m5.24xlarge"
        assert lab.create("anew", groups).get("FailureMessage") is None
        entry = "on_create.sh" if request.param == "customer" else "on_init_complete.sh"
        cluster = Cluster(lab, entry, groups)
        cluster.wait_for_workers(2)
        yield cluster


def replace_checks(worker: Shell, text: str) -> None:
    """Replace the checks with another program atomically, and restore them."""
    worker.run(["cp", "--no-clobber", COMMAND, "/root/checks"])
    worker.run(["sh", "-c", f"cat >{COMMAND}.new; chmod 755 {COMMAND}.new"], stdin=text)
    worker.run(["mv", f"{COMMAND}.new", COMMAND])


@pytest.fixture
def counting(cluster: Cluster) -> Iterator[None]:
    """Checks that only count."""
    for worker in cluster.workers:
        replace_checks(worker, COUNT)
    yield
    for worker in cluster.workers:
        worker.run(["mv", "/root/checks", COMMAND])


def test_a_new_cluster_is_reconfigured_by_us_alone_and_once(cluster: Cluster) -> None:
    """A second start only if HyperPod starts slurmctld first; else the first reads everything."""
    assert cluster.starts() == (1 if cluster.entry == "on_create.sh" else 2)


@pytest.mark.usefixtures("counting")
def test_no_job_is_lost_and_no_node_is_drained(cluster: Cluster) -> None:
    cluster.head.run(["tee", "/root/jobs"], stdin=RUN_JOBS)
    began = cluster.starts()
    cluster.head.run(["systemd-run", "--quiet", "--collect", "sh", "/root/jobs"])
    ended = "cat /tmp/ended 2>/dev/null || echo not yet"
    wait_until(
        lambda: cluster.run(cluster.head, ended) != "not yet", "the end of all jobs", seconds=1800
    )
    assert cluster.run(cluster.head, ended) == ""
    assert cluster.run(cluster.head, "sinfo --noheader --list-reasons") == ""
    assert cluster.starts() == began + RECONFIGURATIONS
    checked = [cluster.run(each, "grep -c prolog /run/checked || :") for each in cluster.workers]
    assert sum(map(int, checked)) == JOBS


def test_a_job_starts_while_what_slurm_handed_out_is_open_to_write(cluster: Cluster) -> None:
    """A child that slurmd forks at that moment has it open; a program would be `Text file busy`."""
    worker, held = cluster.workers[0], "/run/held"
    worker.run(["tee", "/run/hold.py"], stdin=HOLD)
    hold = f"sleep infinity | python3 /run/hold.py >{held}"
    worker.run(["systemd-run", "--quiet", "--collect", "--unit=hold", "sh", "-c", hold])
    wait_until(lambda: cluster.run(worker, f"cat {held} || :") != "", "a process that has it open")
    try:
        job = f"srun --quiet --chdir=/ --partition=cpu --nodelist={worker.hostname} hostname"
        assert cluster.run(cluster.head, job) == worker.hostname
    finally:
        worker.run(["systemctl", "stop", "hold"])
    assert cluster.run(cluster.head, "sinfo --noheader --list-reasons") == ""


@pytest.mark.usefixtures("counting")
def test_a_job_outlives_a_start_of_slurmd_beside_a_slow_prolog(cluster: Cluster) -> None:
    """slurmd would give it up after 10 seconds, and log that."""
    worker = cluster.workers[0]
    slow = "#!/bin/sh\n[ $1 = --epilog ] || { touch /run/slow; sleep 15; }\n"
    replace_checks(worker, slow)
    job = f"srun --quiet --chdir=/ --partition=cpu --nodelist={worker.hostname} hostname"
    cluster.run(cluster.head, f"cd /tmp; {{ {job} >slow 2>&1; mv slow slow.ended; }} >&2 & :")
    wait_until(lambda: cluster.run(worker, "ls /run/slow || :") != "", "the Prolog")
    cluster.run(cluster.head, "scontrol reconfigure")
    ended = "cat /tmp/slow.ended 2>/dev/null || echo not yet"
    wait_until(lambda: cluster.run(cluster.head, ended) != "not yet", "the end of the job")
    assert cluster.run(cluster.head, ended) == worker.hostname


def test_scripts_that_change_nothing_let_slurmctld_run(cluster: Cluster) -> None:
    began = cluster.starts()
    assert cluster.run_scripts().startswith("OK: ")
    assert cluster.starts() == began


def test_a_changed_parameter_and_a_line_that_was_lost_take_one_start(cluster: Cluster) -> None:
    began = cluster.starts()
    conf = "/opt/slurm/etc/slurmpod.conf"
    cluster.run(cluster.head, "systemctl stop slurmpod-keep.path")
    cluster.run(cluster.head, f"sed -i s/^SlurmdTimeout=.*/SlurmdTimeout=251/ {conf}")
    cluster.run(cluster.head, f"sed -i '/^include slurmpod.conf/d' {SLURM_CONF}")
    assert cluster.run_scripts().startswith("OK: ")
    assert cluster.starts() == began + 1
    assert "SlurmdTimeout=250" in cluster.run(cluster.head, f"cat {conf}")


@pytest.mark.parametrize("count", [3, 2])
def test_hyperpod_alone_lets_slurm_read_which_nodes_there_are(cluster: Cluster, count: int) -> None:
    began = cluster.starts()
    cluster.scale(count)
    wait_until(lambda: cluster.run(cluster.head, KEEPER_STATE) == "inactive", "our own look")
    assert cluster.starts() == began + 1
