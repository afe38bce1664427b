"""A whole environment with its own secrets, buckets and roles: who can read what, and where.

Its nodes may do what its templates allow, so everything that they did before the tests was allowed.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus
from xml.sax.saxutils import escape

import pytest
from botocore.exceptions import ClientError

from slurmpod.bundle.templates import render
from slurmpod.reading.read import Reading, read_as
from slurmpod.rehearsal.shell import Shell
from slurmpod.resolve import resolve
from tests.nodes.conftest import make_workplace, node_shell, wait_until
from tests.nodes.hyperpod_lab import SLURM
from tests.nodes.test_rehearse import Kept

TEXT = """
edition: 2026
name: {name}
account: "123456789012"
region: us-west-2
network:
  zone: usw2-az2
  private_subnet_cidr: 10.0.128.0/18
  other_zones:
    - {{zone: usw2-az1, private_subnet_cidr: 10.0.192.0/28}}
storage:
  lustre: {{capacity_gib: 1200}}
  openzfs: {{mount_path: /home, capacity_gib: 64}}
  s3_mounts:
    - {{bucket: our-data, prefix: in/, mount_path: /data}}
identity:
  roles: per_role
  data_buckets:
    - {{bucket: our-models, prefix: out/, access: write}}
  job_secrets:
    - {{secret_arn: {secret}}}
access:
  sessions: {{}}
  users:
    - {{name: alice, uid: 20001}}
cluster:
  groups:
    - {{name: head, role: controller, instance_type: ml.m5.large}}
    - {{name: people, role: login, instance_type: ml.m5.large}}
    - {{name: cpu, role: worker, instance_type: ml.c5.xlarge, partition: cpu}}
slurm:
  rds: {{}}
"""
JOB_SECRET = "arn:aws:secretsmanager:us-west-2:123456789012:secret:hub-AbCdEf"
SLURMDBD_CONF = f"{SLURM}/etc/slurmdbd.conf"
NODES = ("head", "people", "cpu")
READ_BY_NODES = "/etc /opt /var /tmp /run /root /home /fsx /usr/local"
FIND = f"""\
export LC_ALL=C  # grep looks for bytes, twice as fast
cat >/dev/shm/marks
for process in /proc/[0-9]*; do tr '\\0' ' ' <$process/cmdline; done 2>/dev/null |
    grep -F -f /dev/shm/marks && echo "process arguments"
journalctl --no-pager | grep -q -F -f /dev/shm/marks && echo journal
grep -rlF -f /dev/shm/marks {READ_BY_NODES} 2>/dev/null
rm /dev/shm/marks
"""


class CommandLines:
    """The command lines of all processes of this computer, nodes included, over some time."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.1):
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    self.seen.add((process / "cmdline").read_text(errors="replace"))
                except OSError:
                    continue


class Guarded(Kept):
    """The rehearsal, another environment's resources in the same account, and all secrets."""

    def __init__(
        self, workplace: Any, file: Path, done: subprocess.CompletedProcess[str], seen: str
    ) -> None:
        super().__init__(workplace, json.loads(done.stdout))
        self.file = file
        self.printed = done.stdout + done.stderr
        self.command_lines = seen
        (self.folder,) = workplace.rehearsals()
        self._keys: dict[str, list[str]] = {}
        for bucket in (self.other_bucket, "other-data"):
            self.client("s3").create_bucket(Bucket=bucket, CreateBucketConfiguration=PLACE)
        other = self.client("secretsmanager").create_secret(Name="other", SecretString="theirs")
        self.other_secret = other["ARN"]

    @property
    def other_bucket(self) -> str:
        """The bucket with the scripts of another environment."""
        environment = read_as(
            "other.yaml", TEXT.format(name="other", secret=JOB_SECRET)
        ).environment
        assert environment
        return resolve(Reading(environment)).lifecycle.bucket

    @cached_property
    def own_secrets(self) -> list[str]:
        """The ARNs of the deployment's resources."""
        listed = self.client("secretsmanager").list_secrets()["SecretList"]
        return [each["ARN"] for each in listed if each["Name"] not in ("other", "hub")]

    @cached_property
    def secrets(self) -> list[str]:
        """The deployment's passwords, and a job's secret, in all encodings."""
        values = [json.loads(self.value(arn))["password"] for arn in self.own_secrets]
        assert values
        return [way for value in (*values, self.of_jobs) for way in spellings(value)]

    @property
    def of_jobs(self) -> str:
        """The contents of the secret that jobs may read."""
        return str(json.loads(self.value(JOB_SECRET))["rehearsed"])

    def value(self, arn: str) -> str:
        found = self.client("secretsmanager").get_secret_value(SecretId=arn)
        return str(found["SecretString"])

    def objects(self) -> Iterator[str]:
        """Yield the contents of all buckets."""
        s3 = self.client("s3")
        for bucket in s3.list_buckets()["Buckets"]:
            for each in s3.list_objects_v2(Bucket=bucket["Name"]).get("Contents", []):
                content = s3.get_object(Bucket=bucket["Name"], Key=each["Key"])["Body"].read()
                yield content.decode(errors="replace")

    def shell(self, node: str, user: str = "ubuntu") -> Shell:
        return node_shell(self.workplace, self.shown, node, user)

    def on(self, node: str, *command: str) -> str:
        return self.shell(node).run(command)

    def find(self, node: str, marks: str) -> list[str]:
        """Return where any of these texts is on a node."""
        return self.shell(node, "root").run(["sh", "-c", FIND], stdin=marks).splitlines()

    def client_on(self, node: str, service: str) -> Any:
        """Return a client with a node's credentials of its role."""
        if node not in self._keys:
            self._keys[node] = self.on(node, "sh", "-c", KEY).split()
        return self.client(service, *self._keys[node])

    def refused(self, node: str, service: str, operation: str, **given: Any) -> str:
        """Return the action that a node's role is denied when it calls an operation."""
        reason = "because no identity-based policy allows the"
        with pytest.raises(ClientError, match=reason) as failed:
            getattr(self.client_on(node, service), operation)(**given)
        return str(failed.value).partition("is not authorized to perform: ")[2].split()[0]


def spellings(password: str) -> list[str]:
    """Return a password's encodings: plain, JSON, URLs, XML and slurmdbd.conf."""
    slurm = password.replace("\\", "\\\\").replace("#", "\\#")
    ways = (password, json.dumps(password)[1:-1], quote_plus(password), escape(password), slurm)
    return list(dict.fromkeys(ways))


PLACE = {"LocationConstraint": "us-west-2"}
KEY = ". /etc/rehearsal/aws; echo $AWS_ACCESS_KEY_ID $AWS_SECRET_ACCESS_KEY $AWS_SESSION_TOKEN"


@pytest.fixture(scope="module")
def guarded(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("guarded")
    workplace = make_workplace(folder)
    file = folder / "guarded.yaml"
    file.write_text(TEXT.format(name="guarded", secret=JOB_SECRET))
    watched = CommandLines()
    done = workplace.run("rehearse", str(file), "--keep", "--json")
    watched.close()
    assert done.returncode == 0, done.stderr
    yield Guarded(workplace, file, done, "\n".join(watched.seen))
    assert workplace.run("rehearsal", "down").returncode == 0


def test_data_are_staged_by_a_job_and_removed(guarded: Guarded) -> None:
    """With the role of the nodes: a listing, an object of one part, and one of several."""
    s3 = guarded.client("s3")
    s3.put_object(Bucket="our-models", Key="out/set/small", Body=b"small")
    begun = s3.create_multipart_upload(Bucket="our-models", Key="out/set/large")
    upload = {"Bucket": "our-models", "Key": "out/set/large", "UploadId": begun["UploadId"]}
    tags = [
        s3.upload_part(PartNumber=number, Body=bytes(size), **upload)["ETag"]
        for number, size in enumerate((5 << 20, 1000), start=1)
    ]
    parts = [{"PartNumber": number, "ETag": tag} for number, tag in enumerate(tags, start=1)]
    s3.complete_multipart_upload(MultipartUpload={"Parts": parts}, **upload)
    stage = ("job", "stage", str(guarded.file))
    copied = guarded.slurmpod(*stage, "s3://our-models/out/set", "/fsx/ubuntu/set")
    assert copied.returncode == 0, copied.stdout + copied.stderr
    assert "0.01 GB copied" in copied.stdout
    assert "all 2 files are in /fsx/ubuntu/set" in copied.stdout
    assert "by their size" not in copied.stdout
    sizes = "stat --format=%s /fsx/ubuntu/set/small /fsx/ubuntu/set/large"
    assert guarded.on("cpu", *sizes.split()).split() == ["5", str((5 << 20) + 1000)]
    again = guarded.slurmpod(*stage, "s3://our-models/out/set", "/fsx/ubuntu/set")
    assert "2 of 2 files are there, 0.00 GB copied" in again.stdout
    evicted = guarded.slurmpod(*stage, "--evict", "/fsx/ubuntu/set", "--yes")
    assert evicted.returncode == 0, evicted.stdout + evicted.stderr
    assert "2 files of /fsx/ubuntu/set are removed" in evicted.stdout
    assert guarded.on("cpu", "sh", "-c", "ls -A /fsx/ubuntu | grep -x set || true") == ""


class TestSessions:
    def test_a_session_is_that_of_the_user_whom_the_document_names(self, guarded: Guarded) -> None:
        """As with the real Session Manager, which starts the document's shell."""
        start = "from slurmpod.cli.main import main; main()"
        done = subprocess.run(
            [sys.executable, "-P", "-c", start, "connect", str(guarded.file)],
            env={**guarded.workplace.variables, **guarded.variables},
            input="id -un; pwd\n",
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        home = guarded.on("people", "sh", "-c", "echo ~ubuntu")
        assert done.stdout.split("SessionId: ")[1].splitlines()[1:3] == ["ubuntu", home]


SCRIPT = """\
#!/bin/bash
#SBATCH --partition=cpu --chdir=/fsx/ubuntu/asks --output=/fsx/ubuntu/asks/%j.out
[[ -z ${SLURMPOD_SECRETS:-} ]] || source ./secrets.sh
srun bash -c 'printf %s "$HUB" | sha256sum; echo "$WORLD" done'
srun sleep infinity
"""


@pytest.fixture(scope="module")
def asking(guarded: Guarded, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The id of a job that has read its secret and continues."""
    folder = tmp_path_factory.mktemp("asks")
    (folder / "asks.sbatch").write_text(SCRIPT)
    (folder / "secrets.sh").write_text(render("jobs/secrets.sh", {}))
    given = ("--secret", f"HUB={JOB_SECRET}", "--env", "WORLD=a b", "--json")
    done = guarded.slurmpod("job", "submit", str(guarded.file), str(folder), *given)
    assert done.returncode == 0, done.stderr
    job = str(json.loads(done.stdout)["job"])
    said = f"cat /fsx/ubuntu/asks/{job}.out 2>/dev/null || true"
    wait_until(lambda: "done" in guarded.on("cpu", "sh", "-c", said), "what the job says")
    digest = hashlib.sha256(guarded.value(JOB_SECRET).encode()).hexdigest()
    assert guarded.on("cpu", "sh", "-c", said) == f"{digest}  -\na b done"
    yield job
    guarded.on("head", "scancel", job)


class TestReach:
    def test_every_step_but_that_of_a_missing_program_was_allowed(self, guarded: Guarded) -> None:
        assert {node["status"] for node in guarded.shown["nodes"]} == {"Running"}
        journal = (guarded.folder / "journal.jsonl").read_text()
        assert "not authorized" not in journal
        assert "AccessDenied" not in journal

    def test_nodes_are_sessions_of_the_role_of_their_group(self, guarded: Guarded) -> None:
        arns = {
            node: guarded.on(node, "aws", "sts", "get-caller-identity", "--query", "Arn")
            for node in NODES
        }
        assert "/guarded-identity-ControllerRole" in arns["head"]
        assert "/guarded-identity-WorkerRole" in arns["cpu"]
        assert all(arn.strip('"').endswith("/SageMaker") for arn in arns.values())

    @pytest.mark.parametrize("node", ["people", "cpu"])
    def test_their_own_data_is_in_reach_and_no_other(self, guarded: Guarded, node: str) -> None:
        listed = guarded.shell(node).run(["sh", "-c", "aws s3 ls s3://our-data/in/ 2>&1 || true"])
        assert "AccessDenied" not in listed
        for bucket in ("our-data", "other-data"):
            refused = guarded.refused(node, "s3", "list_objects_v2", Bucket=bucket)
            assert refused == "s3:ListBucket"
        assert guarded.refused(node, "s3", "list_buckets") == "s3:ListAllMyBuckets"
        mine = {"Bucket": "our-models", "Key": f"out/{node}"}
        guarded.client_on(node, "s3").put_object(**mine)
        assert guarded.client("s3").head_object(**mine)
        elsewhere = mine | {"Key": "elsewhere"}
        assert guarded.refused(node, "s3", "put_object", **elsewhere) == "s3:PutObject"

    def test_controllers_where_nobody_works_reach_no_data(self, guarded: Guarded) -> None:
        put = {"Bucket": "our-models", "Key": "out/head"}
        assert guarded.refused("head", "s3", "put_object", **put) == "s3:PutObject"

    @pytest.mark.parametrize("node", NODES)
    def test_scripts_of_another_environment_cannot_be_read(
        self, guarded: Guarded, node: str
    ) -> None:
        bucket = guarded.other_bucket
        assert bucket.startswith("sagemaker-other")
        listed = guarded.refused(node, "s3", "list_objects_v2", Bucket=bucket)
        assert listed == "s3:ListBucket"
        read = guarded.refused(node, "s3", "get_object", Bucket=bucket, Key="lifecycle/x")
        assert read == "s3:GetObject"

    def test_only_the_controller_reads_the_secret_and_no_other(self, guarded: Guarded) -> None:
        (secret,) = guarded.own_secrets
        get = ("aws", "secretsmanager", "get-secret-value", "--secret-id", secret)
        assert guarded.on("head", *get, "--query", "Name")
        asked = ("secretsmanager", "get_secret_value")
        action = "secretsmanager:GetSecretValue"
        assert guarded.refused("cpu", *asked, SecretId=secret) == action
        for node in NODES:
            assert guarded.refused(node, *asked, SecretId=guarded.other_secret) == action
            listed = guarded.refused(node, "secretsmanager", "list_secrets")
            assert listed == "secretsmanager:ListSecrets"

    def test_only_workers_read_the_secret_of_jobs(self, guarded: Guarded) -> None:
        asked = ("secretsmanager", "get_secret_value")
        for node in ("head", "people"):
            refused = guarded.refused(node, *asked, SecretId=JOB_SECRET)
            assert refused == "secretsmanager:GetSecretValue"
        assert guarded.client_on("cpu", asked[0]).get_secret_value(SecretId=JOB_SECRET)

    @pytest.mark.parametrize("node", NODES)
    def test_file_systems_are_described_to_no_node_without_efa(
        self, guarded: Guarded, node: str
    ) -> None:
        """IAM knows no resources for DescribeFileSystems: an allowed caller may describe all."""
        refused = guarded.refused(node, "fsx", "describe_file_systems")
        assert refused == "fsx:DescribeFileSystems"

    @pytest.mark.parametrize(
        ("service", "operation", "given", "action"),
        [
            ("iam", "list_roles", {}, "iam:ListRoles"),
            ("cloudformation", "describe_stacks", {}, "cloudformation:DescribeStacks"),
            ("sagemaker", "list_clusters", {}, "sagemaker:ListClusters"),
            ("sagemaker", "delete_cluster", {"ClusterName": "guarded"}, "sagemaker:DeleteCluster"),
            ("ssm", "describe_parameters", {}, "ssm:DescribeParameters"),
            ("logs", "describe_log_streams", {"logGroupName": "/other"}, "logs:DescribeLogStreams"),
        ],
    )
    def test_nodes_cannot_look_around(
        self, guarded: Guarded, service: str, operation: str, given: dict[str, str], action: str
    ) -> None:
        assert guarded.refused("cpu", service, operation, **given) == action


@pytest.mark.usefixtures("asking")
class TestSecrets:
    def test_slurm_keeps_the_arn_of_a_jobs_secret(self, guarded: Guarded, asking: str) -> None:
        saved = (
            "grep -rlF hub-AbCdEf $(scontrol show config | awk '/^StateSaveLocation/ {print $3}')"
        )
        assert guarded.shell("head", "root").run(["bash", "-lc", saved])
        shown = guarded.on("head", "scontrol", "show", "job", "--details", asking)
        assert f"JobId={asking} " in shown
        assert guarded.of_jobs not in shown

    def test_they_were_never_printed(self, guarded: Guarded) -> None:
        assert not [mark for mark in guarded.secrets if mark in guarded.printed]

    def test_they_were_never_arguments_of_a_process(self, guarded: Guarded) -> None:
        assert "slurmpod.rehearsal.host" in guarded.command_lines
        assert "slurmdbd" in guarded.command_lines
        assert not [mark for mark in guarded.secrets if mark in guarded.command_lines]

    def test_no_file_of_the_rehearsal_has_them(self, guarded: Guarded) -> None:
        """Templates, the CDK's and the nodes' logs, the journal, the shared file systems."""
        marks = [mark.encode() for mark in guarded.secrets]
        files = [path for path in guarded.folder.rglob("*") if path.is_file()]
        assert {"guarded-identity.template.json", "journal.jsonl"} <= {path.name for path in files}
        content = {path: path.read_bytes() for path in files}
        assert [path for path in files if any(mark in content[path] for mark in marks)] == []

    def test_cloudwatch_and_s3_have_none(self, guarded: Guarded) -> None:
        logs, written = guarded.client("logs"), []
        for group in logs.describe_log_groups()["logGroups"]:
            events = logs.filter_log_events(logGroupName=group["logGroupName"])["events"]
            written += [event["message"] for event in events]
        assert any("database_password: done" in line for line in written)
        objects = list(guarded.objects())
        assert any("slurmpod_lifecycle" in text for text in objects)
        written += objects
        assert not [mark for mark in guarded.secrets for text in written if mark in text]

    def test_on_nodes_only_slurmdbd_has_its_own(self, guarded: Guarded) -> None:
        marks = "".join(f"{mark}\n" for mark in guarded.secrets)
        found = {node: guarded.find(node, marks) for node in NODES}
        assert found == {"head": [SLURMDBD_CONF], "people": [], "cpu": []}
        shown = guarded.on("head", "sudo", "stat", "--format=%a %U", SLURMDBD_CONF)
        assert shown == "600 slurm"
