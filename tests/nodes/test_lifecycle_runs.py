"""Repeated runs of the scripts on live nodes: by a user's commands, and after they were killed."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from slurmpod.bundle import render_bundle
from slurmpod.platform_profiles.loading import load
from slurmpod.platform_profiles.slurm_versions import DEFAULT_SLURM
from slurmpod.reading.read import read
from slurmpod.rehearsal.shell import Shell
from slurmpod.rules.check import sound
from tests.nodes.conftest import wait_until
from tests.nodes.deployed_bundle import deployed_bundle
from tests.nodes.hyperpod_lab import BUCKET, REGION, HyperPodLab, hostname, policy
from tests.nodes.test_lifecycle_bundles import customer_group

YAML = """
name: runs
account: "123456789012"
region: us-west-2
network: {zone: us-west-2a}
storage: {lustre: {}}
slurm: {records_backup: {}}
lifecycle: {hooks: {worker: {before: before.sh, after: after.sh}}}
cluster:
  groups:
    - {name: head, role: controller, instance_type: ml.m5.large}
    - {name: cpu, role: worker, instance_type: ml.m5.large, partition: cpu}
"""
BEFORE = "#!/bin/bash\necho before $SLURMPOD_ROLE $SLURMPOD_NODE_NAME\ndate > /root/hooked\n"
AFTER = "#!/usr/bin/env python3\nprint(open('/etc/hostname').read())\n"
NOT_OURS = "/root/hooked /root/.aws/cli/cache /var/log/provision */__pycache__"
"""The changes of a repeated run: output of the user's script, and its own log and report.

The AWS CLI that comes with Slurm 26.05 counts its sessions, and a timer's programs are compiled
when they run for the first time.
"""


@dataclass(frozen=True)
class Runs:
    """A cluster that is in service, and the file of its environment."""

    lab: HyperPodLab
    file: Path

    def again(self, group: str, *options: str) -> tuple[int, dict[str, str]]:
        """Run the scripts again on a group of one node; return the exit code and states by step."""
        ended = self.lab.slurmpod(
            "lifecycle", "run", str(self.file), "--group", group, "--json", *options
        )
        (report,) = json.loads(ended.stdout or "[{}]")
        assert report, ended.stderr
        return ended.returncode, {each["name"]: each["state"] for each in report["steps"]}

    def on(self, group: str) -> Shell:
        return self.lab.shell("runs", group, user="root")


@pytest.fixture(scope="module")
def runs(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    folder = tmp_path_factory.mktemp("runs")
    (folder / "before.sh").write_text(BEFORE)
    (folder / "after.sh").write_text(AFTER)
    (folder / "runs.yaml").write_text(YAML)
    with HyperPodLab(tmp_path_factory.mktemp("lab"), image) as lab:
        uri = upload(lab, folder / "runs.yaml")
        groups = [customer_group(name, uri) for name in ("head", "cpu")]
        cluster = lab.create("runs", groups)
        assert cluster["ClusterStatus"] == "InService", lab.output("runs", "cpu")
        yield Runs(lab, folder / "runs.yaml")


def upload(lab: HyperPodLab, file: Path) -> str:
    """Upload the bundle of an environment as a deployment would."""
    resolved = sound(read(file)).resolved
    keep_records(lab, resolved.lifecycle.bucket)
    bundle = render_bundle(resolved)
    assert bundle
    return lab.upload(bundle.prefix, deployed_bundle(lab, resolved))


def keep_records(lab: HyperPodLab, bucket: str) -> None:
    """Create the bucket of the environment, and let nodes keep their records there."""
    lab.aws.s3.create_bucket(
        Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": REGION}
    )
    records = f"arn:aws:s3:::{bucket}/records/runs.sql.gz"
    document = policy(Action=["s3:GetObject", "s3:PutObject"], Resource=records)
    lab.aws.iam.put_role_policy(RoleName="nodes", PolicyName="Records", PolicyDocument=document)


def test_the_profile_of_rehearsals_is_what_is_observed_in_one(runs: Runs) -> None:
    compared = runs.lab.slurmpod("observe", str(runs.file), "--compare")
    assert (compared.returncode, compared.stdout) == (0, ""), compared.stderr
    assert f" {DEFAULT_SLURM}." in compared.stderr
    assert "no difference from the built-in profile" in compared.stderr


def test_one_group_may_be_observed_alone(runs: Runs) -> None:
    compared = runs.lab.slurmpod("observe", str(runs.file), "--compare", "--group", "cpu")
    assert (compared.returncode, compared.stdout) == (0, ""), compared.stderr
    assert "nodes inspected: 1" in compared.stderr
    unknown = runs.lab.slurmpod("observe", str(runs.file), "--compare", "--group", "gpu")
    assert "has no group 'gpu'" in unknown.stderr


def test_what_is_observed_becomes_a_profile(runs: Runs, tmp_path: Path) -> None:
    head, slurmd = runs.on("head"), "/etc/systemd/system/slurmd.service"
    head.run(["sh", "-c", "echo 'MinJobAge=301 # ours' >>/opt/slurm/etc/slurm.conf"])
    for group in ("head", "cpu"):
        command = f"sed -i.kept s/^KillMode=.*/KillMode=mixed/ {slurmd}; touch /usr/bin/docker"
        runs.on(group).run(["sh", "-c", f"{command}; chmod 755 /usr/bin/docker"])
    out = tmp_path / "learnt.yaml"
    try:
        observed = runs.lab.slurmpod("observe", str(runs.file), "--out", str(out))
    finally:
        head.run(["sed", "-i", "/^MinJobAge=301/d", "/opt/slurm/etc/slurm.conf"])
        for group in ("head", "cpu"):
            runs.on(group).run(["sh", "-c", f"mv {slurmd}.kept {slurmd}; rm /usr/bin/docker"])
    assert observed.returncode == 0, observed.stderr
    assert f"slurmpod rehearse --profile {out} {runs.file}" in observed.stderr
    learnt = load([str(out)])
    assert learnt.profile.slurm_conf.lines["MinJobAge"] == "301"
    assert learnt.evidence["slurm_conf", "lines", "MinJobAge"].confidence == "certain"
    assert learnt.profile.image.units["slurmd"]["Service"]["KillMode"] == "mixed"
    assert not learnt.profile.image.software.docker, "came after the scripts had looked"


def test_a_job_tells_the_same_of_every_node(runs: Runs) -> None:
    told = json.loads(runs.on("cpu").run(["srun", "--quiet", "slurmpod-facts"]))
    reports = runs.lab.slurmpod("lifecycle", "report", str(runs.file), "--json").stdout
    (report,) = (each for each in json.loads(reports) if each["group"] == "cpu")
    assert told["at_first"] == report["image"]["platform"]
    assert told["now"]["interface"] == "ens5"
    assert told["now"]["units"].keys() == {"slurmctld", "slurmd", "slurmdbd"}


def test_the_report_shows_every_node_and_what_took_longest(runs: Runs) -> None:
    shown = runs.lab.slurmpod("lifecycle", "report", str(runs.file))
    assert shown.returncode == 0, shown.stderr
    assert "mount_fsx" in shown.stdout
    assert "slowest: ip-" in shown.stdout
    reports = json.loads(runs.lab.slurmpod("lifecycle", "report", str(runs.file), "--json").stdout)
    assert {report["group"]: report["succeeded"] for report in reports} == {
        "head": True,
        "cpu": True,
    }


def test_a_copy_of_the_report_is_on_shared_storage(runs: Runs) -> None:
    node = hostname(runs.lab.nodes("runs", "cpu")[0])
    report = runs.on("head").run(["cat", f"/fsx/.slurmpod/reports/{node}.json"])
    assert json.loads(report)["node"]["name"] == node


def test_hooks_ran_and_are_in_the_log(runs: Runs) -> None:
    node = hostname(runs.lab.nodes("runs", "cpu")[0])
    log = "\n".join(runs.lab.output("runs", "cpu"))
    assert f"hook_before: before worker {node}" in log
    assert f"hook_after: {node}" in log


def test_a_dry_run_changes_nothing(runs: Runs) -> None:
    before = tree(runs.on("cpu"))
    code, states = runs.again("cpu", "--dry-run")
    assert code == 0
    assert {name for name, state in states.items() if state != "already done"} == {
        "identify",
        "hook_before",
        "hook_after",
        "self_check",
    }
    assert tree(runs.on("cpu")) == before


def test_a_second_run_finds_everything_done(runs: Runs) -> None:
    before = tree(runs.on("head"))
    code, states = runs.again("head", "--yes")
    assert code == 0
    changed = {step for step, state in states.items() if state != "already done"}
    assert changed == {"identify", "self_check"}
    assert tree(runs.on("head")) == before


def test_runs_that_were_killed_are_made_good_by_the_next(runs: Runs) -> None:
    node = runs.on("cpu")
    before = tree(node)
    node.run(["sh", "-c", UNDO])
    for boundary in ("identify", "hook_before", "mount_fsx", "bar_daemons"):
        node.run(["sh", "-c", KILLED.format(boundary=boundary)])
    code, states = runs.again("cpu", "--yes")
    assert code == 0
    assert states["slurmd"] == "done"
    assert tree(node) == before
    assert node.run(["systemctl", "is-active", "slurmd", "munge"]) == "active\nactive"


def test_jobs_leave_a_worker_before_something_is_mounted_there(runs: Runs) -> None:
    head, node = runs.on("head"), runs.on("cpu")
    job = head.run(["sbatch", "--parsable", "--chdir=/tmp", f"--wrap={UNTIL_DRAINED}"])
    is_running = ["squeue", "--noheader", "--states=RUNNING", f"--jobs={job}"]
    wait_until(lambda: bool(head.run(is_running)), "the job runs")
    node.run(["sh", "-c", "sed -i '/ .fsx /d' /etc/fstab; umount /fsx"])
    ended = runs.lab.slurmpod("lifecycle", "run", str(runs.file), "--yes")
    assert ended.returncode == 0, ended.stderr
    assert "JobState=COMPLETED" in head.run(["scontrol", "--oneliner", "show", "job", job])
    state = ["sinfo", "--noheader", "--partition=cpu", "--format=%T"]
    wait_until(lambda: head.run(state) == "idle", "the worker takes jobs again")
    assert node.run(["mountpoint", "/fsx"]) == "/fsx is a mountpoint"


UNTIL_DRAINED = """\
until /opt/slurm/bin/scontrol show node $SLURM_JOB_NODELIST | grep -q DRAIN; do sleep 0.2; done
"""

UNDO = """
systemctl stop slurmd
rm -r /etc/systemd/system/slurmd.service.d/slurmpod.conf
systemctl daemon-reload
umount /fsx
"""
KILLED = """
cd /tmp/sagemaker-lab/lifecycle/*/ || exit 1
export SAGEMAKER_RESOURCE_CONFIG_PATH=/opt/ml/config/resource_config.json PYTHONUNBUFFERED=1
python3 -m slurmpod_lifecycle /tmp/report.json > /tmp/killed.log 2>&1 &
until grep -q " {boundary}: .*done" /tmp/killed.log; do kill -0 $! || exit 1; done
kill -KILL $!
rm -f /tmp/killed.log /tmp/report.json
"""


def tree(node: Shell) -> str:
    """Return checksums of all that steps can write on a node, except what changes by itself."""
    folders = "/etc /usr/local /opt/slurm/etc /var/log/provision /root"
    prune = " -o ".join(f"-path '{path}'" for path in NOT_OURS.split())
    find = f"find {folders} \\( {prune} \\) -prune -o -type f -print0"
    return node.run(["sh", "-c", f"{find} | sort -z | xargs -0 sha256sum"])


def test_a_mirrored_package_is_installed_and_a_changed_one_never(runs: Runs) -> None:
    node = runs.on("cpu")
    package = base64.b64decode(node.run(["sh", "-c", PACKAGE]))
    right, wrong = hashlib.sha256(package).hexdigest(), "ab" * 32
    for name in (right, wrong):
        key = f"lifecycle/artefacts/{name}/mirrored.deb"
        runs.lab.aws.s3.put_object(Bucket=BUCKET, Key=key, Body=package)
    assert "has the SHA-256" in node.run(["sh", "-c", INSTALLATION, "sh", wrong])
    assert not node.run(["sh", "-c", "dpkg-query --show mirrored || true"])
    assert node.run(["sh", "-c", INSTALLATION, "sh", right]) == "True"
    assert node.run(["mirrored"]) == "from the mirror"


PACKAGE = """
cd $(mktemp -d) && mkdir -p mirrored/DEBIAN mirrored/usr/bin
cat > mirrored/DEBIAN/control <<END
Package: mirrored
Version: 1
Architecture: all
Maintainer: nobody
Description: a package
END
printf '#!/bin/sh\\necho from the mirror\\n' > mirrored/usr/bin/mirrored
chmod 755 mirrored/usr/bin/mirrored
dpkg-deb --build mirrored >&2 && base64 mirrored.deb
"""
INSTALLATION = """
cd /tmp/sagemaker-lab/lifecycle/*/ && python3 - $1 <<END
import sys
from dataclasses import replace
from slurmpod_lifecycle.packages import install_artefact
from slurmpod_lifecycle.step import StepFailed
from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.node import Node
from slurmpod_lifecycle.settings import Artefact
from slurmpod_lifecycle.node import Instance
from slurmpod_lifecycle.settings import SETTINGS, Role, load_settings

mirror = f"s3://sagemaker-lab/lifecycle/artefacts/{sys.argv[1]}/mirrored.deb"
artefact = Artefact("enroot", "x86_64", "https://127.0.0.1:1/a.deb", sys.argv[1], mirror)
settings = load_settings(SETTINGS)
settings = replace(settings, node=replace(settings.node, artefacts=(artefact,)))
instance = Instance("cpu", "cpu-1", "i-0", "10.0.0.1")
try:
    print(install_artefact(Node(settings, Machine(), instance, Role.WORKER, ""), "enroot"))
except StepFailed as error:
    print(error)
END
"""
