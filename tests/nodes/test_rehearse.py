"""Rehearsals that succeed: one of environments/dev.yaml that is kept, and two at once."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from slurmpod.folders import node_executable
from slurmpod.operations.deploy.cdk import CDK
from slurmpod.permissions.people import READING
from slurmpod.platform_profiles.slurm_versions import DEFAULT_SLURM
from slurmpod.rehearsal.nodes.folder import machines_cgroup
from tests.nodes.conftest import PATIENCE_SECONDS, PROJECT, Workplace, make_workplace
from tests.nodes.drill_job import ARGUMENTS, PLACE, SAVE_EVERY, STEPS, drill_job

BIN = Path(sys.executable).parent
BUNDLES = "/tmp"  # noqa: S108  # HyperPod's path on the node
DEV = "environments/dev.yaml"
DRILL = "batch-host-power-cut"
FAULT = "file-system-full"
ONCE = Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"})
KEY_PARTS = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
STACKS = ["dev-network", "dev-storage", "dev-lifecycle", "dev-identity", "dev-cluster"]


OWN_DATABASE = """\
edition: 2026
name: own
account: "123456789012"
region: us-west-2
network: {zone: usw2-az2}
slurm:
  accounting_database:
    endpoint: records.example.us-west-2.rds.amazonaws.com
    secret_arn: arn:aws:secretsmanager:us-west-2:123456789012:secret:records-AbCdEf
cluster:
  groups:
    - {name: controller, role: controller, instance_type: ml.m5.large}
    - {name: login, role: login, instance_type: ml.m5.large}
    - {name: workers, role: worker, instance_type: ml.m5.xlarge, count: 2, partition: cpu}
"""


class Kept:
    """A rehearsal that is still running, its output, and a user's tools."""

    def __init__(self, workplace: Workplace, shown: dict[str, Any]) -> None:
        self.workplace = workplace
        self.shown = shown
        lines = workplace.run("rehearsal", "env").stdout.splitlines()
        assigned = [line[7:].split("=", 1) for line in lines if line.startswith("export ")]
        self.variables = {name: value.strip("'") for name, value in assigned}
        self._clients: dict[tuple[str, ...], Any] = {}

    def client(self, service: str, *key: str) -> Any:
        """Return boto3's client of a service, optionally with another key than the account owner's.

        Each start of the AWS CLI takes as long as a hundred calls.
        """
        exported = self.variables
        chosen = key or (exported["AWS_ACCESS_KEY_ID"], exported["AWS_SECRET_ACCESS_KEY"])
        if (service, *chosen) not in self._clients:
            session: Any = boto3.Session(region_name=exported["AWS_REGION"])
            made = session.client(
                service,
                endpoint_url=exported["AWS_ENDPOINT_URL"],
                config=ONCE,
                **dict(zip(KEY_PARTS, chosen, strict=False)),
            )
            self._clients[service, *chosen] = made
        return self._clients[service, *chosen]

    def nodes(self) -> list[dict[str, Any]]:
        """Return the nodes of the cluster as AWS lists them."""
        listed = self.client("sagemaker").list_cluster_nodes(ClusterName="dev")
        found: list[dict[str, Any]] = listed["ClusterNodeSummaries"]
        return found

    def aws(self, *arguments: str) -> Any:
        printed = self._tool(f"{BIN}/aws", *arguments, "--output", "json")
        return json.loads(printed)

    def cdk(self, command: str, *arguments: str) -> str:
        node, cdk = str(node_executable()), str(PROJECT / CDK)
        # Other tests may synthesize into this folder's own cdk.out meanwhile, which the CDK
        # rejects.
        place = ("--output", str(self.workplace.home / "cdk.out"))
        return self._tool(node, cdk, command, "--all", "--context", "env=dev", *place, *arguments)

    def slurmpod(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the account of the rehearsal, on a terminal of 100 columns."""
        program = (sys.executable, "-P", "-c", "from slurmpod.cli.main import main; main()")
        mine = {"COLUMNS": "100", **variables}
        return subprocess.run(
            [*program, *arguments],
            cwd=PROJECT,
            env={**self.workplace.variables, **self.variables, **mine},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )

    def key_of(self, name: str, actions: Sequence[str]) -> dict[str, str]:
        """Create a user with only these `actions`; return the variables for a shell."""
        statement = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        iam = self.client("iam")
        iam.create_user(UserName=name)
        iam.put_user_policy(UserName=name, PolicyName="own", PolicyDocument=policy)
        key = iam.create_access_key(UserName=name)["AccessKey"]
        return {
            "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
        }

    def on(self, node: str, *command: str) -> str:
        return self.workplace.run("rehearsal", "shell", node, "--", *command).stdout.strip()

    def _tool(self, *command: str) -> str:
        result = subprocess.run(
            command,
            cwd=PROJECT,
            env={**self.workplace.variables, **self.variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert result.returncode == 0, result.stdout
        return result.stdout


@pytest.fixture(scope="module")
def kept(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    workplace = make_workplace(tmp_path_factory.mktemp("kept"))
    with odd_surroundings(tmp_path_factory.mktemp("a folder")) as folder:
        job = drill_job(tmp_path_factory.mktemp("jobs") / "count")
        command = ("rehearse", str(PROJECT / DEV), "--keep", "--json", "--fault", DRILL)
        result = workplace.run(*command, "--job", str(job), "--", *ARGUMENTS, cwd=folder)
    assert result.returncode == 0, result.stderr
    cgroup = machines_cgroup(workplace.rehearsals()[0])
    yield Kept(workplace, json.loads(result.stdout))
    assert workplace.run("rehearsal", "down").returncode == 0
    assert workplace.rehearsals() == []
    assert workplace.processes() == []
    assert cgroup
    assert not cgroup.exists()


@contextmanager
def odd_surroundings(folder: Path) -> Iterator[Path]:
    """Set up what a user may have for other purposes; none of it must do harm."""
    (folder / "secrets.py").write_text("raise SystemExit('the wrong module')")
    old_umask = os.umask(0o077)
    with pytest.MonkeyPatch.context() as variables:
        variables.setenv("AWS_PROFILE", "there-is-none")
        variables.setenv("AWS_ENDPOINT_URL_SAGEMAKER", "http://127.0.0.1:1")
        variables.setenv("HTTP_PROXY", "http://127.0.0.1:1")
        yield folder
    os.umask(old_umask)


class TestWhatIsShown:
    def test_every_stack_is_complete(self, kept: Kept) -> None:
        stacks = {stack["name"]: stack["status"] for stack in kept.shown["stacks"]}
        assert stacks == dict.fromkeys(STACKS, "CREATE_COMPLETE")

    def test_every_node_runs_in_its_group(self, kept: Kept) -> None:
        nodes = [(node["group"], node["status"]) for node in kept.shown["nodes"]]
        assert nodes == [
            ("controller", "Running"),
            ("login", "Running"),
            ("workers", "Running"),
            ("workers", "Running"),
        ]

    def test_slurm_has_the_workers_idle_in_their_partition(self, kept: Kept) -> None:
        partitions = [line.split() for line in kept.shown["first_job"]["sinfo"].splitlines()[1:]]
        assert [(name, count, state) for name, _, _, count, state, _ in partitions] == [
            ("dev*", "3", "idle"),
            ("cpu", "2", "idle"),
        ]

    def test_the_job_ran_on_two_nodes_that_share_the_file_system(self, kept: Kept) -> None:
        workers = {
            "ip-" + node["private_ip"].replace(".", "-")
            for node in kept.shown["nodes"]
            if node["group"] == "workers"
        }
        lines = sorted(kept.shown["first_job"]["output"].splitlines())
        assert len(lines) == 2
        assert all(line.endswith("sees /fsx") for line in lines)
        assert {line.split()[-4] for line in lines} == workers

    def test_the_job_has_a_record(self, kept: Kept) -> None:
        record = kept.shown["first_job"]["sacct"].splitlines()[2].split()
        assert record[:4] == ["1", "first-job", "cpu", "2"]
        assert "COMPLETED" in record

    def test_a_job_of_the_users_own_went_on_after_a_fault(self, kept: Kept) -> None:
        (drill,) = kept.shown["drills"]
        assert (drill["fault"], drill["state"], drill["is_sound"]) == (DRILL, "COMPLETED", True)
        assert (drill["restarts"], drill["step_restarts"]) == (1, 0)
        assert (drill["steps"], drill["differing"]) == (STEPS, [])
        (after,) = drill["resumed_after"]
        assert after % SAVE_EVERY == 0

    def test_a_large_folder_reaches_the_cluster_through_the_bucket(
        self, kept: Kept, tmp_path: Path
    ) -> None:
        chosen = "#SBATCH --partition=cpu\n#SBATCH --chdir=/fsx/ubuntu/large\n"
        (tmp_path / "large.sbatch").write_text(
            f"#!/bin/bash\n{chosen}#SBATCH --output=%j.out\nsha256sum large.bin\n"
        )
        content = os.urandom(500_000)
        (tmp_path / "large.bin").write_bytes(content)
        submitted = kept.slurmpod("job", "submit", DEV, str(tmp_path))
        assert submitted.returncode == 0, submitted.stderr
        assert "has 2 files, 0.5 MB; 2 files had to be copied\n" in submitted.stderr
        assert "through sessions" not in submitted.stderr
        assert submitted.stdout == f"{sha256(content).hexdigest()}  large.bin\n"
        again = kept.slurmpod("job", "submit", DEV, str(tmp_path), "--no-follow")
        assert "; nothing had to be copied\n" in again.stderr
        bucket = "sagemaker-dev-123456789012-us-west-2"
        left = kept.client("s3").list_object_versions(Bucket=bucket, Prefix="lifecycle/jobs/")
        assert "Versions" not in left

    def test_nodes_are_those_after_the_fault(self, kept: Kept) -> None:
        instances = {node["InstanceId"] for node in kept.nodes()}
        assert {node["instance_id"] for node in kept.shown["nodes"]} == instances


class TestFaults:
    def test_one_strikes_a_cluster_at_rest(self, kept: Kept) -> None:
        result = kept.workplace.run("rehearsal", "fault", FAULT, "--json")
        assert result.returncode == 0, result.stderr
        (fault,) = json.loads(result.stdout)
        assert (fault["name"], fault["lost"]) == (FAULT, [])
        stages = [moment["stage"] for moment in fault["moments"]]
        assert stages == ["injected", "noticed", "repaired", "recovered"]
        assert "injected: /fsx is full on all nodes" in result.stderr

    def test_one_strikes_whatever_runs(self, kept: Kept) -> None:
        before = f"{PLACE}.undisturbed"
        start = (
            f"cp -r {before} {PLACE}; cd {PLACE}; mv count_*.out ../undisturbed.out;"
            f" rm checkpoint; sbatch count.sbatch {' '.join(ARGUMENTS)};"
            " until grep -qs 'step 24 ' count_*.out; do sleep 0.1; done"
        )
        kept.on("login", "sh", "-c", start)
        refused = kept.workplace.run("rehearsal", "fault", FAULT)
        assert refused.returncode == 2
        assert "needs an idle cluster" in refused.stderr
        undisturbed = ("--undisturbed", f"{Path(PLACE).parent}/undisturbed.out")
        result = kept.workplace.run("rehearsal", "fault", "worker-power-off", *undisturbed)
        assert result.returncode == 0, result.stderr
        assert "restarts: 1 of the job, 0 of steps in it" in result.stdout
        assert f"losses: same as in the undisturbed run, in all {STEPS} steps" in result.stdout


class TestLookingAround:
    def test_the_real_aws_cli_describes_the_cluster_and_its_nodes(self, kept: Kept) -> None:
        cluster = kept.aws("sagemaker", "describe-cluster", "--cluster-name", "dev")
        assert cluster["ClusterStatus"] == "InService"
        node_id = kept.shown["nodes"][0]["instance_id"]
        node = kept.aws(
            "sagemaker", "describe-cluster-node", "--cluster-name", "dev", "--node-id", node_id
        )["NodeDetails"]
        assert node["InstanceStatus"]["Status"] == "Running"
        assert node["PrivatePrimaryIp"] == kept.shown["nodes"][0]["private_ip"]

    def test_nodes_ran_the_bundle_that_lies_in_the_bucket(self, kept: Kept) -> None:
        cluster = kept.client("sagemaker").describe_cluster(ClusterName="dev")
        uri = cluster["InstanceGroups"][0]["LifeCycleConfig"]["SourceS3Uri"]
        bucket, prefix = uri.removeprefix("s3://").split("/", 1)
        listed = kept.client("s3").list_objects_v2(Bucket=bucket, Prefix=prefix)
        in_bucket = {item["Key"].removeprefix(f"{prefix}/") for item in listed["Contents"]}
        on_node = kept.on(
            "workers", "find", f"{BUNDLES}/{bucket}/{prefix}", "-type", "f", "-printf", "%P\n"
        )
        assert in_bucket == set(on_node.splitlines()) - {
            path for path in on_node.splitlines() if "__pycache__" in path
        }

    def test_what_scripts_printed_is_in_cloudwatch_logs(self, kept: Kept) -> None:
        cluster = kept.client("sagemaker").describe_cluster(ClusterName="dev")
        group = f"/aws/sagemaker/Clusters/dev/{cluster['ClusterArn'].rsplit('/')[-1]}"
        node = kept.shown["nodes"][0]
        stream = f"LifecycleConfig/{node['group']}/{node['instance_id']}"
        found = kept.client("logs").get_log_events(
            logGroupName=group, logStreamName=stream, startFromHead=True
        )
        messages = [event["message"] for event in found["events"]]
        assert messages[0] == "[SageMaker] Downloading lifecycle scripts"
        assert messages[-1] == "[SageMaker] The lifecycle scripts succeeded."
        assert any(message.startswith("OK: controller ") for message in messages)

    def test_a_shell_opens_on_a_node_of_a_group(self, kept: Kept) -> None:
        assert kept.on("login", "hostname").startswith("ip-10-0-")
        assert kept.on("login", "whoami") == "ubuntu"

    def test_options_may_stand_before_the_command(self, kept: Kept) -> None:
        (folder,) = kept.workplace.rehearsals()
        options = ("--id", folder.name, "--user", "root")
        result = kept.workplace.run("rehearsal", "shell", "login", *options, "--", "id", "-u")
        assert result.stdout == "0\n", result.stderr

    def test_a_shell_begins_where_its_user_may_write(self, kept: Kept) -> None:
        assert kept.on("login", "sh", "-c", 'test -w . && test "$PWD" = ~ && echo yes') == "yes"

    def test_what_env_exports_names_the_rehearsal(self, kept: Kept) -> None:
        (folder,) = kept.workplace.rehearsals()
        assert kept.variables["SLURMPOD_REHEARSAL"] == folder.name

    def test_what_the_user_had_set_for_aws_is_unset(
        self, kept: Kept, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_PROFILE", "prod")
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://elsewhere")
        lines = kept.workplace.run("rehearsal", "env").stdout.splitlines()
        assert {"unset AWS_ENDPOINT_URL_S3", "unset AWS_PROFILE"} <= set(lines)

    def test_the_controller_runs_no_slurmd_and_keeps_slurm_conf(self, kept: Kept) -> None:
        controller = kept.shown["nodes"][0]["private_ip"]
        refused = kept.on("controller", "sudo", "sh", "-c", "systemctl start slurmd; echo $?")
        assert refused.splitlines()[-1] != "0"
        slurm_conf = kept.on("controller", "cat", "/opt/slurm/etc/slurm.conf")
        assert f"({controller})" in slurm_conf

    def test_names_of_groups_that_are_none_are_refused_with_those_that_are(
        self, kept: Kept
    ) -> None:
        result = kept.workplace.run("rehearsal", "shell", "nope")
        assert result.returncode == 1
        assert "unknown node 'nope'" in result.stderr
        assert "(login)" in result.stderr


@pytest.fixture(scope="module")
def reader(kept: Kept) -> dict[str, str]:
    """The key of a user with only the read permissions of docs/permissions.md."""
    rights = {right.action for command in READING.values() for right in command}
    return kept.key_of("reader", sorted(rights))


def told(kept: Kept, reader: dict[str, str], subject: str) -> tuple[str, str]:
    """Return the cause and the next step that `why` names for a node or job."""
    shown = kept.slurmpod("why", DEV, subject, "--json", **reader)
    assert shown.returncode == 0, shown.stderr
    cause = json.loads(shown.stdout)["cause"]
    return cause["says"], cause["fix"]


def as_user(kept: Kept, command: str) -> str:
    return kept.on("login", "sh", "-c", f"cd; PATH=/opt/slurm/bin:$PATH; {command}")


def as_root(kept: Kept, command: str) -> str:
    return kept.on("controller", "sudo", "bash", "-lc", command)


class TestRunning:
    """A read-only user sees the state: the permissions of docs/permissions.md suffice."""

    def test_status_and_why_tell_of_a_node_that_was_drained(
        self, kept: Kept, reader: dict[str, str]
    ) -> None:
        worker = kept.on("workers", "hostname")
        drain = "scontrol update nodename=$0 state=$1 reason='bad NVLink'"
        kept.on("controller", "sudo", "bash", "-lc", drain, worker, "drain")
        try:
            shown = kept.slurmpod("status", DEV, **reader)
            story = kept.slurmpod("why", DEV, worker, **reader)
        finally:
            kept.on("controller", "sudo", "bash", "-lc", drain, worker, "resume")
        assert shown.returncode == 0, shown.stderr
        assert "2/2 in service" in shown.stdout
        assert worker in shown.stdout
        assert "bad NVLink" in shown.stdout
        assert "5 stacks, all complete" in " ".join(shown.stdout.split())
        assert f" {DEFAULT_SLURM}." in shown.stdout
        assert "AccessDenied" not in shown.stdout
        assert "/fsx" in shown.stdout
        assert "OK: worker" in story.stdout, story.stderr
        assert "not asked" not in story.stdout
        cause = "most probably: root took the node out of service: bad NVLink\n"
        assert cause in story.stdout

    def test_why_names_what_slurm_has_not_noticed(self, kept: Kept, reader: dict[str, str]) -> None:
        worker = kept.on("workers", "hostname")
        kept.on("workers", "sudo", "systemctl", "stop", "slurmd")
        try:
            story = kept.slurmpod("why", DEV, worker, **reader)
            page = kept.slurmpod("why", DEV, **reader)
        finally:
            kept.on("workers", "sudo", "systemctl", "start", "slurmd")
        assert "most probably: slurmd does not run on the node (inactive)" in story.stdout
        assert "(300 sec without an answer)" in story.stdout
        assert f"1. {worker}: slurmd does not run on the node (inactive)" in page.stdout
        assert "not asked" not in page.stdout, page.stdout

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            (
                "--output=/no/such.out --wrap=true",
                "could not be opened: /no/such.out: No such file",
            ),
            ("--wrap='srun sleep 99 & sleep 1'", "step 0 was cancelled when the script ended"),
            ("--mem=999G --wrap=true || true", "no node of dev can satisfy what it asks for"),
        ],
    )
    def test_why_names_how_a_job_failed(
        self, kept: Kept, reader: dict[str, str], options: str, says: str
    ) -> None:
        submit = f"cd; PATH=/opt/slurm/bin:$PATH; sbatch --wait --ntasks=1 {options}"
        kept.on("login", "sh", "-c", f"{submit} >/dev/null 2>&1")
        newest = "/opt/slurm/bin/sacct -X -n -P --format=jobid | tail -n 1"
        job = kept.on("login", "sh", "-c", newest)
        told = kept.slurmpod("why", DEV, job, **reader).stdout
        assert says in told.partition("most probably: ")[2], told

    def test_why_names_a_job_with_more_nodes_than_there_are(
        self, kept: Kept, reader: dict[str, str]
    ) -> None:
        asked = as_user(kept, "sbatch --parsable --nodes=9 --wrap=true").splitlines()[-1]
        again = as_user(kept, "sbatch --parsable --wait --nodes=2 --wrap=true").splitlines()[-1]
        cause, fix = told(kept, reader, asked)
        as_user(kept, f"scancel {asked}")
        assert cause == "it will not start: it asks for 9 nodes, and dev has 3"
        assert fix.startswith(f"cancel it (`scancel {asked}`) and submit it with fewer nodes")
        assert told(kept, reader, again) == ("it ended well", "")

    def test_why_names_a_dependency_that_failed_and_who_cancelled_the_job_then(
        self, kept: Kept, reader: dict[str, str]
    ) -> None:
        printed = as_user(
            kept,
            "failed=$(sbatch --parsable --wait --wrap=false);"
            " job=$(sbatch --parsable --dependency=afterok:$failed --wrap=true);"
            " until squeue -h -o %r -j $job | grep -q Never; do sleep 0.2; done;"
            " echo $failed $job",
        )
        failed, job = printed.splitlines()[-1].split()
        cause, fix = told(kept, reader, job)
        assert cause.startswith("it will never start: what it depends on did not end as it asks")
        assert f"`scancel {job}`" in fix
        assert fix.endswith(f"slurmpod why {DEV} {failed}")
        as_user(kept, f"scancel {job}")
        cause, fix = told(kept, reader, job)
        assert cause == "user 1000 cancelled the job"

    def test_why_names_a_time_limit_for_which_waiting_never_helps(
        self, kept: Kept, reader: dict[str, str]
    ) -> None:
        as_root(kept, "scontrol update partitionname=cpu maxtime=60")
        try:
            job = as_user(
                kept,
                "job=$(sbatch --parsable --partition=cpu --time=20:00:00 --wrap=true);"
                " until squeue -h -o %r -j $job | grep -q Limit; do sleep 0.2; done; echo $job",
            )
            cause, fix = told(kept, reader, job)
            advised = f"scontrol update jobid={job} timelimit=01:00:00"
            as_user(kept, f"{advised}; while squeue -h -j {job} | grep -q .; do sleep 0.2; done")
            after = told(kept, reader, job)
        finally:
            as_root(kept, "scontrol update partitionname=cpu maxtime=UNLIMITED")
        assert "it asks for 20:00:00, and its partition gives 01:00:00" in cause
        assert "waiting never helps" in cause
        assert advised in fix
        assert after == ("it ended well", "")

    def test_why_follows_a_node_from_a_lost_spool_folder_to_a_drain_by_hand(
        self, kept: Kept, reader: dict[str, str]
    ) -> None:
        node = kept.on("workers", "hostname")
        kept.on("workers", "sudo", "mv", "/var/spool/slurmd", "/var/spool/slurmd.away")
        try:
            job = as_user(
                kept,
                f"job=$(sbatch --parsable --nodelist={node} --wrap=true);"
                " until squeue -h -o %r -j $job | grep -q held; do sleep 0.2; done; echo $job",
            )
            on_node, on_job = told(kept, reader, node), told(kept, reader, job)
        finally:
            restart = "systemctl restart slurmd && rm -r /var/spool/slurmd.away"
            kept.on("workers", "sudo", "sh", "-c", restart)
        assert "spool folder is not there: the node takes jobs and cannot start" in on_node[0]
        assert "sudo systemctl restart slurmd" in on_node[1]
        assert f"could not be started on {node}" in on_job[0]
        assert f"slurmpod why {DEV} {node}; then release it: `scontrol release {job}`" in on_job[1]
        well = f"{node} is healthy: it takes jobs"
        assert told(kept, reader, node)[0] == well
        looked_at = f"until squeue -h -o %r -j {job} | grep -q BeginTime; do sleep 0.2; done"
        as_user(kept, f"scontrol release {job}; {looked_at}")
        assert told(kept, reader, job)[0].startswith("it waits for its time")
        reason = "moving rack, back at 18:00"
        drain = f"scontrol update nodename={node} state=drain reason='{reason}'"
        as_root(kept, f"scancel {job}; {drain}")
        try:
            cause, fix = told(kept, reader, node)
        finally:
            as_root(kept, f"scontrol update nodename={node} state=resume")
        assert cause == f"root took the node out of service: {reason}"
        assert fix.endswith(f"slurmpod node resume {DEV} {node}")
        assert told(kept, reader, node)[0] == well

    def test_why_tells_of_a_job(self, kept: Kept, reader: dict[str, str]) -> None:
        told = kept.slurmpod("why", DEV, "1", "--json", **reader)
        assert told.returncode == 0, told.stderr
        story = json.loads(told.stdout)
        assert story["cause"]["says"] == "it ended well"
        assert {moment["source"] for moment in story["moments"]} >= {"records", "slurmctld"}
        assert story["unread"] == {}

    def test_cost_adds_up_the_records(self, kept: Kept, reader: dict[str, str]) -> None:
        kept.on("login", "sh", "-c", "cd && /opt/slurm/bin/srun --partition cpu sleep 2")
        told = kept.slurmpod("cost", DEV, "--csv", **reader)
        assert told.returncode == 0, told.stderr
        header, *rows = told.stdout.splitlines()
        assert header == "account,user,partition,jobs,node_hours,usd"
        assert any(row.split(",")[1:3] == ["ubuntu", "cpu"] for row in rows)

    def test_a_report_tells_what_happened_to_who_may_look(
        self, kept: Kept, reader: dict[str, str], tmp_path: Path
    ) -> None:
        told = kept.slurmpod("report", DEV, "--json", **reader)
        assert told.returncode == 0, told.stderr
        record = json.loads(told.stdout)["record"]
        assert [run["stack"] for run in record["runs"]] == STACKS
        assert all(node["ended"] and node["succeeded"] for node in record["nodes"])
        assert record["jobs"][-1]["name"] == "first-job"
        assert [fault["name"] for fault in record["rehearsed"]["faults"]] == [FAULT]

    def test_a_report_of_a_rehearsal_needs_no_exported_variables(
        self, kept: Kept, tmp_path: Path
    ) -> None:
        (folder,) = kept.workplace.rehearsals()
        out = tmp_path / "report.html"
        written = kept.workplace.run("report", folder.name, "--out", str(out))
        assert written.returncode == 0, written.stderr
        page = out.read_text()
        assert f"dev: rehearsal {folder.name}" in page
        assert "cannot be read" not in page
        for node in kept.shown["nodes"]:
            assert f"ip-{node['private_ip'].replace('.', '-')}" in page

    def test_logs_of_a_job_are_exported_without_secrets(
        self, kept: Kept, reader: dict[str, str], tmp_path: Path
    ) -> None:
        now = "$(date +[%Y-%m-%dT%H:%M:%S.000])"
        planted = f"echo {now} StoragePass=hunter2 >>/var/log/slurm/slurmd.log"
        kept.on("workers", "sudo", "bash", "-c", planted)
        submit = "cd && sbatch --parsable --wait --nodes=2 --partition=cpu --wrap=hostname"
        job = kept.on("login", "sh", "-c", submit)
        archive = tmp_path / "case.tar.gz"
        kinds = [word for kind in ("lifecycle", "slurm", "system") for word in ("--kind", kind)]
        options = ("--job", job, *kinds, "--since", "1d", "--export", str(archive))
        shown = kept.slurmpod("logs", DEV, *options, **reader)
        assert shown.returncode == 0, shown.stderr
        assert "not included" not in shown.stderr
        with tarfile.open(archive) as files:
            texts = {
                each.name: b"".join(files.extractfile(each) or ()) for each in files.getmembers()
            }
        logs = {Path(name).name for name in texts}
        assert logs >= {"about.json", "lifecycle.log", "slurmd.log", "journal.log"}
        together = b"".join(texts.values())
        assert b"hunter2" not in together
        assert b"StoragePass=(not shown" in together
        launched = rf"Launching batch (job |JobId=){job} "  # in 24.11, and since
        assert re.search(launched.encode(), together)

    def test_status_without_rights_says_so_in_each_place(self, kept: Kept) -> None:
        key = kept.key_of("newcomer", ["sagemaker:DescribeCluster"])
        shown = kept.slurmpod("status", DEV, "--json", **key)
        assert shown.returncode == 0, shown.stderr
        found = json.loads(shown.stdout)
        assert found["cluster"]["status"] == "InService"
        assert "AccessDenied" in found["nodes"]["unread"]
        assert "AccessDenied" in found["stacks"]["unread"]


class TestDeployingAgain:
    def test_nothing_differs(self, kept: Kept) -> None:
        assert "Number of stacks with differences: 0" in kept.cdk("diff")

    def test_nothing_is_deployed_and_the_cluster_stays(self, kept: Kept) -> None:
        before = kept.nodes()
        printed = kept.cdk("deploy", "--require-approval", "never")
        assert printed.count("(no changes)") == len(STACKS)
        assert kept.nodes() == before


AtOnce = dict[str, subprocess.CompletedProcess[str]]
"""How rehearsals ended, by the name of their environment."""


@pytest.fixture(scope="module")
def at_once(image: Path, tmp_path_factory: pytest.TempPathFactory) -> AtOnce:
    """Two rehearsals in parallel: with the user's own database, and without workers."""
    no_workers = (PROJECT / DEV).read_text().replace("count: 2", "count: 0")
    places = {}
    for name, text in (("own", OWN_DATABASE), ("no-workers", no_workers)):
        folder = tmp_path_factory.mktemp(name)
        (folder / "environment.yaml").write_text(text)
        places[name] = make_workplace(folder)
    processes = {
        name: workplace.start("rehearse", str(workplace.home.parent / "environment.yaml"), "--json")
        for name, workplace in places.items()
    }
    ended = {}
    for name, process in processes.items():
        stdout, stderr = process.communicate(timeout=300)
        ended[name] = subprocess.CompletedProcess(name, process.returncode, stdout, stderr)
        assert places[name].rehearsals() == []
        assert places[name].processes() == []
    return ended


class TestTwoAtOnce:
    @pytest.mark.parametrize("name", ["own", "no-workers"])
    def test_both_pass(self, at_once: AtOnce, name: str) -> None:
        assert at_once[name].returncode == 0, at_once[name].stderr

    def test_a_database_of_the_users_own_keeps_the_records(self, at_once: AtOnce) -> None:
        first_job = json.loads(at_once["own"].stdout)["first_job"]
        assert first_job["output"].count("sees /fsx") == 2
        assert "COMPLETED" in first_job["sacct"]

    def test_a_cluster_without_workers_runs_no_job(self, at_once: AtOnce) -> None:
        assert json.loads(at_once["no-workers"].stdout)["first_job"] is None
