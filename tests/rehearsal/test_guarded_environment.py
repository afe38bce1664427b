"""A whole environment with secrets, buckets and roles of its own: who can read what, and where.

Its nodes may do what its templates allow, so everything that they did before the tests was allowed.
"""

from __future__ import annotations

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

from slurmpod.reading.read import Reading, read_as
from slurmpod.rehearsal.shell import CommandFailed, Shell
from slurmpod.resolve import resolve
from tests.rehearsal.conftest import make_workplace, node_shell
from tests.rehearsal.test_rehearse import Kept

TEXT = """
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
SLURMDBD_CONF = "/opt/slurm-24.11/etc/slurmdbd.conf"
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
    """The rehearsal, what another environment has in the same account, and the secrets of all."""

    def __init__(
        self, workplace: Any, file: Path, done: subprocess.CompletedProcess[str], seen: str
    ) -> None:
        super().__init__(workplace, json.loads(done.stdout))
        self.file = file
        self.printed = done.stdout + done.stderr
        self.command_lines = seen
        (self.folder,) = workplace.rehearsals()
        for bucket in (self.other_bucket, "other-data"):
            self.aws("s3api", "create-bucket", "--bucket", bucket, *PLACE)
        self.other_secret = self.aws(
            "secretsmanager", "create-secret", "--name", "other", "--secret-string", "theirs"
        )["ARN"]

    @property
    def other_bucket(self) -> str:
        """The bucket with the scripts of another environment."""
        environment = read_as("other.yaml", TEXT.format(name="other")).environment
        assert environment
        return resolve(Reading(environment)).lifecycle.bucket

    @cached_property
    def secrets(self) -> list[str]:
        """The passwords that the deployment made, in every way in which they may be written."""
        listed = self.aws("secretsmanager", "list-secrets")["SecretList"]
        values = [self.value(each["ARN"]) for each in listed if each["Name"] != "other"]
        assert values
        return [way for value in values for way in spellings(json.loads(value)["password"])]

    def value(self, arn: str) -> str:
        found = self.aws("secretsmanager", "get-secret-value", "--secret-id", arn)
        return str(found["SecretString"])

    def download(self, bucket: str, folder: Path) -> None:
        aws = Path(sys.executable).with_name("aws")
        self._tool(str(aws), "s3", "cp", "--recursive", "--quiet", f"s3://{bucket}", str(folder))

    def shell(self, node: str, user: str = "ubuntu") -> Shell:
        return node_shell(self.workplace, self.shown, node, user)

    def on(self, node: str, *command: str) -> str:
        return self.shell(node).run(command)

    def find(self, node: str, marks: str) -> list[str]:
        """Return where on a node any of these texts stands."""
        return self.shell(node, "root").run(["sh", "-c", FIND], stdin=marks).splitlines()

    def refused(self, node: str, *arguments: str) -> str:
        """Return the action that a node's role is not allowed when its AWS CLI is run."""
        reason = "because no identity-based policy allows the"
        with pytest.raises(CommandFailed, match=reason) as failed:
            self.shell(node).run(["aws", *arguments])
        return str(failed.value).partition("is not authorized to perform: ")[2].split()[0]


def spellings(password: str) -> list[str]:
    """Return how a password is written plainly, by JSON, in URLs, XML and by slurmdbd.conf."""
    slurm = password.replace("\\", "\\\\").replace("#", "\\#")
    ways = (password, json.dumps(password)[1:-1], quote_plus(password), escape(password), slurm)
    return list(dict.fromkeys(ways))


PLACE = ("--create-bucket-configuration", "LocationConstraint=us-west-2")


@pytest.fixture(scope="module")
def guarded(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("guarded")
    workplace = make_workplace(folder)
    file = folder / "guarded.yaml"
    file.write_text(TEXT.format(name="guarded"))
    watched = CommandLines()
    done = workplace.run("rehearse", str(file), "--keep", "--json")
    watched.close()
    assert done.returncode == 0, done.stderr
    yield Guarded(workplace, file, done, "\n".join(watched.seen))
    assert workplace.run("rehearsal", "down").returncode == 0


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
        assert guarded.refused(node, "s3", "ls", "s3://our-data/") == "s3:ListBucket"
        assert guarded.refused(node, "s3", "ls", "s3://other-data/") == "s3:ListBucket"
        assert guarded.refused(node, "s3", "ls") == "s3:ListAllMyBuckets"
        put = ("s3api", "put-object", "--bucket", "our-models", "--key")
        guarded.on(node, "aws", *put, f"out/{node}")
        assert guarded.aws("s3api", "head-object", *put[2:], f"out/{node}")
        assert guarded.refused(node, *put, "elsewhere") == "s3:PutObject"

    def test_controllers_where_nobody_works_reach_no_data(self, guarded: Guarded) -> None:
        put = ("s3api", "put-object", "--bucket", "our-models", "--key", "out/head")
        assert guarded.refused("head", *put) == "s3:PutObject"

    @pytest.mark.parametrize("node", NODES)
    def test_scripts_of_another_environment_cannot_be_read(
        self, guarded: Guarded, node: str
    ) -> None:
        bucket = guarded.other_bucket
        assert bucket.startswith("sagemaker-other")
        assert guarded.refused(node, "s3", "ls", f"s3://{bucket}/") == "s3:ListBucket"
        get = ("s3api", "get-object", "--bucket", bucket, "--key", "lifecycle/x", "/dev/null")
        assert guarded.refused(node, *get) == "s3:GetObject"

    def test_only_the_controller_reads_the_secret_and_no_other(self, guarded: Guarded) -> None:
        (secret,) = (
            each["ARN"]
            for each in guarded.aws("secretsmanager", "list-secrets")["SecretList"]
            if each["Name"] != "other"
        )
        get = ("secretsmanager", "get-secret-value", "--secret-id")
        assert guarded.on("head", "aws", *get, secret, "--query", "Name")
        action = "secretsmanager:GetSecretValue"
        assert guarded.refused("cpu", *get, secret) == action
        for node in NODES:
            assert guarded.refused(node, *get, guarded.other_secret) == action
            assert guarded.refused(node, "secretsmanager", "list-secrets") == (
                "secretsmanager:ListSecrets"
            )

    @pytest.mark.parametrize("node", NODES)
    def test_file_systems_are_described_to_no_node_without_efa(
        self, guarded: Guarded, node: str
    ) -> None:
        """IAM knows no resources for DescribeFileSystems: where it is allowed, it is for all."""
        assert guarded.refused(node, "fsx", "describe-file-systems") == "fsx:DescribeFileSystems"

    @pytest.mark.parametrize(
        ("call", "action"),
        [
            (("iam", "list-roles"), "iam:ListRoles"),
            (("cloudformation", "describe-stacks"), "cloudformation:DescribeStacks"),
            (("sagemaker", "list-clusters"), "sagemaker:ListClusters"),
            (("sagemaker", "delete-cluster", "--cluster-name", "guarded"), None),
            (("ssm", "describe-parameters"), "ssm:DescribeParameters"),
            (("logs", "describe-log-streams", "--log-group-name", "/other"), None),
        ],
    )
    def test_nodes_cannot_look_around(
        self, guarded: Guarded, call: tuple[str, ...], action: str | None
    ) -> None:
        assert action in (None, guarded.refused("cpu", *call))


class TestSecrets:
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
        written = []
        for group in guarded.aws("logs", "describe-log-groups")["logGroups"]:
            name = group["logGroupName"]
            events = guarded.aws("logs", "filter-log-events", "--log-group-name", name)["events"]
            written += [event["message"] for event in events]
        assert any("accounting: done" in line for line in written)
        for bucket in guarded.aws("s3api", "list-buckets")["Buckets"]:
            copy = guarded.workplace.home / "buckets" / bucket["Name"]
            guarded.download(bucket["Name"], copy)
            written += [path.read_text(errors="replace") for path in copy.rglob("*.*")]
        assert not [mark for mark in guarded.secrets for text in written if mark in text]

    def test_on_nodes_only_slurmdbd_has_its_own(self, guarded: Guarded) -> None:
        marks = "".join(f"{mark}\n" for mark in guarded.secrets)
        found = {node: guarded.find(node, marks) for node in NODES}
        assert found == {"head": [SLURMDBD_CONF], "people": [], "cpu": []}
        shown = guarded.on("head", "sudo", "stat", "--format=%a %U", SLURMDBD_CONF)
        assert shown == "600 slurm"
