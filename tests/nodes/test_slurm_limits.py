"""Limits, QOS, accounts and settings of an environment, on the real Slurm of a rehearsal."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from slurmpod.rehearsal.shell import Shell
from tests.nodes.conftest import Workplace, make_workplace, node_shell, wait_until

ENVIRONMENT = """\
edition: 2026
name: limits
account: "123456789012"
region: us-west-2
network:
  zone: us-west-2b
cluster:
  groups:
    - {name: controller, role: controller, instance_type: ml.m5.large}
    - {name: workers, role: worker, instance_type: ml.g5.12xlarge, count: 2, partition: cpu}
slurm:
  partitions:
    - {name: cpu, max_time: 1-00:00:00, default_time: "01:00:00", allowed_qos: [normal, high]}
    - {name: dev, max_time: "00:30:00", max_nodes: 1, allowed_accounts: [research]}
  qos:
    - name: high
      priority: 10
      max_time: "26:00:30"
      max_resources_per_job: {node: 1, gres/gpu: 4}
      preempts: [low]
    - {name: low, max_time: "00:20:00", total_resources: {cpu: 2, mem: 2048}}
  accounts:
    - {name: nlp, parent: research, shares: 3}
    - {name: research, description: Basic research, qos: [normal, high, low], shares: 10}
  fair_share: {half_life_days: 3}
  settings: {SlurmdTimeout: 120, SchedulerParameters: bf_continue}
"""
LIMITS_OF_CPU = {"MaxTime": "1-00:00:00", "DefaultTime": "01:00:00", "AllowQos": "normal,high"}

WAIT_FOR_A_REASON = """
for _ in $(seq 100); do
    set -- $(squeue --noheader --jobs {job} --format '%T %r')
    [ "$*" = "PENDING None" ] || break
    sleep 0.1
done
echo "$2"
"""
"""A waiting job has the reason None until the scheduler has examined it."""


class Cluster:
    """A rehearsal that is still running, seen from its controller."""

    def __init__(self, shell: Shell, workplace: Workplace, file: Path) -> None:
        self._shell = shell
        self._workplace = workplace
        self._file = file

    def root(self, command: str) -> str:
        """Return the output of a command, whether it succeeds or not."""
        return self._shell.run(["sh", "-c", f"{command}\ntrue"])

    def partition(self, name: str) -> dict[str, str]:
        words = self.root(f"scontrol --oneliner show partition {name}").split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def has_limits(self) -> bool:
        return self.partition("cpu").items() >= LIMITS_OF_CPU.items()

    def parameter(self, name: str) -> str:
        return self.root(f"scontrol show config | sed -n 's/^{name} *= //p'")

    def why(self, job: str) -> str:
        """Return the output of `slurmpod why` for a job, run as after `rehearsal env`."""
        lines = self._workplace.run("rehearsal", "env").stdout.splitlines()
        assigned = [line[7:].split("=", 1) for line in lines if line.startswith("export ")]
        variables = {name: value.strip("'") for name, value in assigned}
        program = (sys.executable, "-P", "-c", "from slurmpod.cli.main import main; main()")
        told = subprocess.run(
            [*program, "why", str(self._file), job],
            env={**self._workplace.variables, **variables},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return " ".join((told.stdout + told.stderr).split())

    def waiting_job(self, options: str) -> tuple[str, str]:
        """Submit a job as the image's user; return its id, and why it waits."""
        submit = f"cd /tmp; sbatch --parsable {options} --wrap 'sleep 60'"
        job = self.root(f'su ubuntu -c "{submit}" 2>&1').splitlines()[-1]
        return job, self.root(WAIT_FOR_A_REASON.format(job=job)).strip()

    def submit(self, options: str) -> str:
        """Submit a job as the image's user; return why it waits, or sbatch's message."""
        submit = f"cd /tmp; sbatch --parsable {options} --wrap 'sleep 60'"
        said = self.root(f'su ubuntu -c "{submit}" 2>&1').splitlines()[-1]
        if not said.isdigit():
            return said
        why = self.root(WAIT_FOR_A_REASON.format(job=said))
        self.root(f"scancel {said}")
        return why


@pytest.fixture(scope="module")
def cluster(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("limits")
    (folder / "limits.yaml").write_text(ENVIRONMENT)
    workplace = make_workplace(folder)
    (folder / "cluster.yaml").write_text("slurm_conf: {lines: {MaxNodeCount: 100}}")
    profiles = ("--profile", "shared-dev", "--profile", str(folder / "cluster.yaml"))
    result = workplace.run("rehearse", str(folder / "limits.yaml"), "--keep", "--json", *profiles)
    assert result.returncode == 0, result.stderr
    shown = json.loads(result.stdout)
    assert "COMPLETED" in shown["first_job"]["sacct"]
    shell = node_shell(workplace, shown, "controller")
    yield Cluster(shell, workplace, folder / "limits.yaml")
    assert workplace.run("rehearsal", "down").returncode == 0


class TestInForce:
    def test_partitions_have_their_limits(self, cluster: Cluster) -> None:
        assert cluster.has_limits()
        dev = cluster.partition("dev")
        limits = {"MaxTime": "00:30:00", "MaxNodes": "1", "AllowAccounts": "research"}
        assert dev.items() >= limits.items()
        assert dev["Default"] == "YES"

    def test_the_nodes_are_those_of_the_profiles_that_were_named(self, cluster: Cluster) -> None:
        assert cluster.partition("dev")["OverSubscribe"] == "NO"
        assert cluster.parameter("MaxNodeCount") == "100"

    def test_a_gpu_counts_as_many_as_the_cpus_that_come_with_it(self, cluster: Cluster) -> None:
        for partition in ("cpu", "dev"):
            assert cluster.partition(partition)["TRESBillingWeights"] == "cpu=1,gres/gpu=12"
        job = cluster.root(
            "su ubuntu -c 'cd /tmp; sbatch --parsable -p cpu --qos high --cpus-per-task 2"
            " --gpus 4 --hold --wrap true'"
        )
        shown = cluster.root(f"scontrol --oneliner show job {job}; scancel {job}")
        assert "billing=50," in shown

    def test_parameters_are_slurms(self, cluster: Cluster) -> None:
        assert cluster.parameter("SlurmdTimeout") == "120 sec"
        assert cluster.parameter("PriorityDecayHalfLife") == "3-00:00:00"
        assert cluster.parameter("PreemptType") == "preempt/qos"
        assert cluster.parameter("SchedulerParameters") == "bf_continue,permit_job_expansion"

    def test_the_database_has_qos_and_accounts(self, cluster: Cluster) -> None:
        columns = "name,priority,maxwall,maxtres,grptres,preempt"
        qos = cluster.root(f"sacctmgr -nP show qos format={columns}").splitlines()
        assert qos == [
            "normal|0||||",
            "high|10|1-02:01:00|gres/gpu=4,node=1||low",
            "low|0|00:20:00||cpu=2,mem=2G|",
        ]
        columns = "account,user,parentname,share,qos,defaultqos"
        shown = cluster.root(f"sacctmgr -nP show associations format={columns}").splitlines()
        assert set(shown) >= {
            "research||root|10|high,low,normal|normal",
            "research|ubuntu||1|high,low,normal|normal",
            "nlp||research|3|high,low,normal|normal",
            "nlp|ubuntu||1|high,low,normal|normal",
        }


class TestJobs:
    @pytest.mark.parametrize(
        ("options", "answer"),
        [
            ("-p cpu --qos high", "None"),
            ("-p cpu --qos high --nodes 2", "QOSMaxNodePerJobLimit"),
            ("-p dev --time 5 --account research", "None"),
        ],
    )
    def test_wait_for_the_right_reason(self, cluster: Cluster, options: str, answer: str) -> None:
        """Slurm says PartitionConfig when it has found no node, for any of the limits."""
        assert cluster.submit(options) in answer.split("|")

    @pytest.mark.parametrize(
        ("options", "answer"),
        [
            ("-p cpu --qos nope", "Invalid qos specification"),
            ("-p cpu --account nope", "Invalid account or account/partition combination"),
            ("-p cpu --time 2-0", "Requested time limit is invalid"),
            ("-p dev --time 5 --nodes 2 --account research", "Node count specification invalid"),
        ],
    )
    def test_are_refused_for_what_is_not_there_or_never_will_be(
        self, cluster: Cluster, options: str, answer: str
    ) -> None:
        assert answer in cluster.submit(options)


class TestWhy:
    def test_names_a_time_that_the_qos_never_gives(self, cluster: Cluster) -> None:
        job, reason = cluster.waiting_job("-p dev --account research --qos low --time 25 --mem 1G")
        assert reason == "QOSMaxWallDurationPerJobLimit"
        told = cluster.why(job)
        cluster.root(f"scancel {job}")
        assert "it asks for 00:25:00" in told
        assert "gives 00:20:00: waiting never helps" in told

    def test_names_the_limit_of_a_qos_that_other_jobs_fill(self, cluster: Cluster) -> None:
        options = "-p dev --account research --qos low --time 9 --cpus-per-task 2"
        first, _ = cluster.waiting_job(options)
        second, reason = cluster.waiting_job(options)
        assert reason == "QOSGrpCpuLimit"
        told = cluster.why(second)
        cluster.root(f"scancel {first} {second}")
        assert "other jobs have all that" in told
        assert "QOSGrpCpuLimit" in told


class TestLater:
    def test_a_second_run_of_the_scripts_changes_nothing(self, cluster: Cluster) -> None:
        by_hand = "sacctmgr -iQ add qos by-hand priority=7; sacctmgr -iQ add account others"
        cluster.root(by_hand)
        again = cluster.root(
            "cd $(dirname /tmp/*/*/*/on_init_complete.sh); bash ./on_init_complete.sh 2>&1"
        )
        for step in ("slurm_settings", "associations"):
            assert f"{step}: already done" in again
        assert again.splitlines()[-1].startswith("OK: controller ")
        assert cluster.has_limits()
        assert "by-hand|7" in cluster.root("sacctmgr -nP show qos format=name,priority")
        assert "others" in cluster.root("sacctmgr -nP show account format=account")

    @pytest.mark.parametrize("event", ["scontrol reconfigure", "systemctl restart slurmctld"])
    def test_limits_come_back_after(self, cluster: Cluster, event: str) -> None:
        cluster.root(event)
        wait_until(cluster.has_limits, f"limits after {event}")

    def test_slurmctld_never_waits_for_who_waits_for_it(self, cluster: Cluster) -> None:
        """Otherwise its log says that its start program failed, after seconds of silence."""
        log = cluster.root("cat /var/log/slurm/slurmctld.log")
        assert "Running SlurmctldPrimaryOnProg" in log
        assert "SlurmctldPrimaryOnProg exit status" not in log

    def test_hyperpod_may_write_slurm_conf_anew(self, cluster: Cluster) -> None:
        conf = "/opt/slurm/etc/slurm.conf"
        cluster.root(
            f"grep -v slurmpod.conf {conf} >/root/anew; cp /root/anew {conf}; scontrol reconfigure"
        )
        wait_until(cluster.has_limits, "limits after a new slurm.conf")
        assert cluster.parameter("SlurmdTimeout") == "120 sec"
        assert cluster.parameter("AccountingStorageType") == "accounting_storage/slurmdbd"
        assert cluster.submit("-p cpu --qos high --nodes 2") == "QOSMaxNodePerJobLimit"
