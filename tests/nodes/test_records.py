"""Job records in a server of RDS: a real slurmdbd in front of a real MariaDB."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from slurmpod.bundle import DATABASE_ENDPOINT, DATABASE_SECRET_ARN
from slurmpod.reading.read import Reading, read_as
from slurmpod.rehearsal.hyperpod.accounting import machine_of
from slurmpod.rehearsal.shell import CommandFailed, Shell
from slurmpod.resolve import resolve
from slurmpod_cdk.database.mariadb_server import server_parameters
from tests.nodes.conftest import wait_until
from tests.nodes.deployed_bundle import deployed_bundle
from tests.nodes.hyperpod_lab import SLURM, HyperPodLab, group
from tests.nodes.test_guarded_environment import FIND, spellings
from tests.nodes.test_lifecycle_bundles import customer_group

TEXT = """
name: {name}
account: "123456789012"
region: us-west-2
network: {{zone: us-west-2a, other_zones: [{{zone: us-west-2b}}]}}
cluster:
  groups:
    - {{name: head, role: controller, instance_type: ml.m5.large}}
    - {{name: cpu, role: worker, instance_type: ml.m5.large, partition: cpu}}
slurm: {{rds: {{}}}}
lifecycle: {{mode: {mode}}}
"""
SERVICE = "slurmpod-database-password"
SLURMDBD_CONF = "/opt/slurm/etc/slurmdbd.conf"
FOUND_AS = f"{SLURM}/etc/slurmdbd.conf"
"""The same file: /opt/slurm is a link."""


@pytest.fixture(scope="module")
def lab(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HyperPodLab]:
    with HyperPodLab(tmp_path_factory.mktemp("lab"), image) as lab:
        yield lab


class Database:
    """A server of RDS with the parameters of the stack, and its machine."""

    def __init__(self, lab: HyperPodLab, name: str, *, requires_tls: bool) -> None:
        self._lab, self.name = lab, name
        self._rds = lab.aws.service("rds")
        subnets = [lab.network.subnet, lab.network.other_subnet]
        self._rds.create_db_subnet_group(
            DBSubnetGroupName=name, DBSubnetGroupDescription=name, SubnetIds=subnets
        )
        self._set_parameters(requires_tls=requires_tls)
        self._rds.create_db_instance(
            DBInstanceIdentifier=name,
            DBInstanceClass="db.t4g.medium",
            Engine="mariadb",
            EngineVersion="11.4",
            AllocatedStorage=50,
            MasterUsername="admin",
            ManageMasterUserPassword=True,
            DBParameterGroupName=name,
            DBSubnetGroupName=name,
            VpcSecurityGroupIds=[self._access_group()],
        )

    @property
    def described(self) -> Any:
        (found,) = self._rds.describe_db_instances(DBInstanceIdentifier=self.name)["DBInstances"]
        return found

    @property
    def endpoint(self) -> str:
        return str(self.described["Endpoint"]["Address"])

    @property
    def secret_arn(self) -> str:
        return str(self.described["MasterUserSecret"]["SecretArn"])

    @property
    def secret(self) -> Mapping[str, str]:
        manager = self._lab.aws.service("secretsmanager")
        text = manager.get_secret_value(SecretId=self.secret_arn)["SecretString"]
        secret: Mapping[str, str] = json.loads(text)
        return secret

    def ask(self, statement: str) -> list[str]:
        """Return MariaDB's answer to a query on the server's own machine, line by line."""
        shell = Shell(self._lab.folder, machine_of(self.name), "root")
        return shell.run(["mariadb", "-N", "-e", statement]).splitlines()

    def rotate(self) -> None:
        """Change the password as RDS does every seven days: in the secret and in the server."""
        old = self.secret["password"]
        self._rds.modify_db_instance(
            DBInstanceIdentifier=self.name, RotateMasterUserPassword=True, ApplyImmediately=True
        )
        new = self.secret["password"]
        assert new != old
        literal = new.replace("\\", "\\\\")
        self.ask(f"ALTER USER admin@'%' IDENTIFIED BY '{literal}'")

    def cut_connections(self) -> None:
        """Close all connections of slurmdbd, which would continue with the old password."""
        ids = self.ask("SELECT id FROM information_schema.processlist WHERE user = 'admin'")
        for connection in ids:
            self.ask(f"KILL {connection}")

    def _set_parameters(self, *, requires_tls: bool) -> None:
        self._rds.create_db_parameter_group(
            DBParameterGroupName=self.name,
            DBParameterGroupFamily="mariadb11.4",
            Description=self.name,
        )
        self._rds.modify_db_parameter_group(
            DBParameterGroupName=self.name,
            Parameters=[
                {"ParameterName": name, "ParameterValue": value, "ApplyMethod": "immediate"}
                for name, value in server_parameters(requires_tls=requires_tls).items()
            ],
        )

    def _access_group(self) -> str:
        ec2 = self._lab.aws.ec2
        vpc = ec2.describe_subnets(SubnetIds=[self._lab.network.subnet])["Subnets"][0]["VpcId"]
        created = ec2.create_security_group(GroupName=self.name, Description="db", VpcId=vpc)
        from_nodes: Any = {
            "IpProtocol": "tcp",
            "FromPort": 3306,
            "ToPort": 3306,
            "UserIdGroupPairs": [{"GroupId": self._lab.network.security_group}],
        }
        ec2.authorize_security_group_ingress(GroupId=created["GroupId"], IpPermissions=[from_nodes])
        return created["GroupId"]


def upload(lab: HyperPodLab, name: str, database: Database, mode: str = "customer") -> str:
    """Render the bundle, complete it as a deployment would, and return its URI."""
    environment = read_as("environment.yaml", TEXT.format(name=name, mode=mode)).environment
    assert environment is not None
    values = {DATABASE_ENDPOINT: database.endpoint, DATABASE_SECRET_ARN: database.secret_arn}
    files = deployed_bundle(lab, resolve(Reading(environment)), values)
    return lab.upload(name, files)


def create(lab: HyperPodLab, name: str, database: Database) -> None:
    uri = upload(lab, name, database)
    cluster = lab.create(name, [customer_group("head", uri), customer_group("cpu", uri)])
    assert cluster.get("FailureMessage") is None


def finished(lab: HyperPodLab, name: str) -> list[str]:
    """Return the names of sacct's completed jobs, also under a repeated id."""
    options = ("--noheader", "--parsable2", "--duplicates", "--allocations", "--starttime=now-1day")
    try:
        shown = lab.shell(name, "cpu").run(["sacct", *options, "--format=JobName,State"])
    except CommandFailed:  # slurmdbd is being restarted
        return []
    rows = [line.split("|") for line in shown.splitlines()]
    return sorted(job for job, state in rows if state == "COMPLETED")


def run_job(lab: HyperPodLab, name: str, job: str) -> None:
    lab.shell(name, "cpu").run(["srun", f"--job-name={job}", "true"])


def wait_for(lab: HyperPodLab, name: str, *jobs: str) -> None:
    wait_until(lambda: finished(lab, name) == sorted(jobs), f"records of {', '.join(jobs)}")


def places_of(lab: HyperPodLab, name: str, password: str) -> list[str]:
    """Return where a password is on the nodes of a cluster, and the scripts' output about it."""
    marks = "".join(f"{mark}\n" for mark in spellings(password))
    roots = [lab.shell(name, each, user="root") for each in ("head", "cpu")]
    found = [line for root in roots for line in root.run(["sh", "-c", FIND], stdin=marks).split()]
    said = [line for each in ("head", "cpu") for line in lab.output(name, each)]
    return found + [line for line in said if any(mark in line for mark in spellings(password))]


def test_records_are_in_the_server_and_outlive_the_cluster(lab: HyperPodLab) -> None:
    database = Database(lab, "kept-records", requires_tls=True)
    create(lab, "kept", database)
    run_job(lab, "kept", "before")
    wait_for(lab, "kept", "before")
    rows = database.ask("SELECT job_name FROM slurm_acct_db.kept_job_table")
    assert rows == ["before"]
    connections = "SELECT count(*) FROM information_schema.processlist WHERE user = 'admin'"
    assert int(database.ask(connections)[0]) > 0
    assert database.ask("SELECT @@require_secure_transport, @@log_bin") == ["1\t1"]
    lab.delete("kept")

    create(lab, "kept", database)
    run_job(lab, "kept", "after")
    wait_for(lab, "kept", "after", "before")
    lab.delete("kept")
    assert len(database.ask("SELECT job_name FROM slurm_acct_db.kept_job_table")) == 2


def test_a_password_that_rds_changes_reaches_slurmdbd_and_no_record_is_lost(
    lab: HyperPodLab,
) -> None:
    database = Database(lab, "turned-records", requires_tls=True)
    create(lab, "turned", database)
    run_job(lab, "turned", "before")
    head = lab.shell("turned", "head", user="root")
    assert places_of(lab, "turned", database.secret["password"]) == [FOUND_AS]
    assert head.run(["systemctl", "is-active", f"{SERVICE}.timer"]) == "active"

    database.rotate()
    database.cut_connections()
    run_job(lab, "turned", "meanwhile")
    assert database.secret["password"] not in head.run(["cat", SLURMDBD_CONF])

    head.run(["systemctl", "start", SERVICE])
    wait_for(lab, "turned", "before", "meanwhile")
    run_job(lab, "turned", "after")
    wait_for(lab, "turned", "before", "meanwhile", "after")
    assert head.run(["stat", "-c", "%U %a", SLURMDBD_CONF]) == "slurm 600"
    said = head.run(["journalctl", "--output=cat", "--unit", SERVICE])
    assert "slurmdbd was started again" in said
    assert database.secret["password"] not in said
    lab.delete("turned")


def test_hyperpod_connects_to_it_and_the_scripts_follow_its_password(lab: HyperPodLab) -> None:
    database = Database(lab, "api-records", requires_tls=False)
    scripts = {
        "SourceS3Uri": upload(lab, "api", database, "extended"),
        "OnInitComplete": "on_init_complete.sh",
    }
    common: dict[str, Any] = {
        "LifeCycleConfig": scripts,
        "InstanceStorageConfigs": [lab.lustre_storage],
    }
    cluster = lab.create(
        "api",
        [group("head", "Controller", **common), group("cpu", "Compute", **common)],
        NodeProvisioningMode="Continuous",
        Orchestrator={
            "Slurm": {
                "AccountingDatabase": {
                    "Endpoint": database.endpoint,
                    "Port": 3306,
                    "Name": "slurm_acct_db",
                    "SecretArn": database.secret_arn,
                }
            }
        },
    )
    assert cluster.get("FailureMessage") is None
    wait_until(
        lambda: (
            [node["InstanceStatus"]["Status"] for node in lab.nodes("api", "cpu")] == ["Running"]
        ),
        "the worker",
    )
    run_job(lab, "api", "before")
    database.rotate()
    database.cut_connections()
    lab.shell("api", "head", user="root").run(["systemctl", "start", SERVICE])
    run_job(lab, "api", "after")
    wait_for(lab, "api", "before", "after")
    lab.delete("api")
