"""`slurmpod preflight` against an embedded AWS: each check fails, and passes once it is mended."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from embedded_aws.clients import Clients
from embedded_aws.existing import Existing
from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.server import EmbeddedAws
from slurmpod.aws.clients import AwsClients
from slurmpod.cli.main import run
from slurmpod.preflight.check import check
from slurmpod.preflight.facts import Facts, Unanswered
from slurmpod.preflight.gather import answer
from slurmpod.preflight.names import images as image_names
from slurmpod.preflight.question import Question
from slurmpod.preflight.subjects import QUESTIONS
from slurmpod.preflight.subjects.account import CALLER
from slurmpod.preflight.subjects.clusters import ALL_CLUSTERS, PER_CLUSTER
from slurmpod.preflight.subjects.endpoint import ENDPOINT, EndpointFacts
from slurmpod.preflight.subjects.identity import ASSUMABLE
from slurmpod.preflight.subjects.notifications import (
    COST_TAGS,
    HAS_IDENTITY_CENTER,
    UNCONFIRMED_EMAILS,
)
from slurmpod.preflight.subjects.quotas import QUOTAS, Quota
from slurmpod.preflight.subjects.secrets import SECRETS
from slurmpod.preflight.subjects.stacks import FAILED_ROLLBACKS, STACKS, STUCK, FailedRollback
from slurmpod.preflight.subjects.training_plans import TRAINING_PLANS
from slurmpod.preflight.subjects.zones import OFFERINGS, ZONES
from slurmpod.problems import ExitCode, Problem
from slurmpod.reading.read import read_as
from slurmpod.rehearsal.existing_resources import make_identity
from slurmpod.resolve import resolve
from slurmpod.rules.check import Sound
from tests.cloud.embedded_file_systems import NETWORK as FILES_NETWORK
from tests.cloud.embedded_file_systems import lustre
from tests.cloud.embedded_stacks import ACCOUNT, REGION, Stacks, ref, resource
from tests.golden_files import ROOT
from tests.served import served_text
from tests.sound_environment import SOUND

OWN = SOUND.replace("123456789012", ACCOUNT).replace("zone: us-west-2b", "zone: usw2-az2")
"""A new VPC in usw2-az2, which this account calls us-west-2a."""

NETWORK = """\
network:
  zone: usw2-az2
  existing:
    vpc_id: vpc-0a1b2c3d4e5f60718
    subnets: [{id: subnet-0a1b2c3d4e5f60718, zone: usw2-az2, cidr: 10.0.0.0/28}]
    security_group_ids: [sg-0a1b2c3d4e5f60718]
    route_table_ids: [rtb-0a1b2c3d4e5f60718]
storage:
"""
EXISTING = OWN[: OWN.index("network:")] + NETWORK + OWN[OWN.index("  lustre:") :]
VPC, SUBNET, GROUP = "vpc-0a1b2c3d4e5f60718", "subnet-0a1b2c3d4e5f60718", "sg-0a1b2c3d4e5f60718"
EVERYTHING = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": GROUP}]}
KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/0f0e0d0c-1111-2222-3333-444455556666"
SECRET = f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:slurm/dbd-AbCdEf"
PLAN = f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:training-plan/june"
TOPIC = f"arn:aws:sns:{REGION}:{ACCOUNT}:takeovers"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/nodes"
BUCKET = "a-bucket-of-ours"
MOUNT = f"  s3_mounts: [{{bucket: {BUCKET}, mount_path: /data}}]\ncluster:"


def group(**settings: str) -> str:
    """Return the environment with other workers."""
    lines = "".join(f"\n      {key}: {value}" for key, value in settings.items())
    return OWN.replace("instance_type: ml.m5.xlarge\n      count: 2", f"{lines.strip()}")


@dataclass(frozen=True)
class Account:
    """An embedded AWS, its quotas, and what preflight finds in it."""

    aws: Clients
    quotas: dict[tuple[str, str], float]
    endpoint: str

    def facts(self, text: str, *fields: str) -> Facts:
        """Gather some facts of an environment."""
        resolved, clients = sound(text).resolved, self.clients()
        caller = answer(CALLER, clients, resolved)
        known = {
            each: answer(each, clients, resolved)
            for each in QUESTIONS
            if each.field in fields and each.concerns(resolved)
        }
        assert not isinstance(caller, Unanswered)
        assert [each for each in known.values() if isinstance(each, Unanswered)] == []
        now = datetime.now(UTC)
        return Facts(resolved.name, resolved.region, now, caller=caller, answers=known)

    def finds(self, text: str, *fields: str) -> dict[str, str]:
        """Return the message of each check that fails."""
        return rules(check(sound(text), self.facts(text, *fields)))

    def clients(self, **credentials: str) -> AwsClients:
        session = boto3.session.Session(
            region_name=REGION,
            aws_access_key_id=credentials.get("AccessKeyId"),
            aws_secret_access_key=credentials.get("SecretAccessKey"),
        )
        return AwsClients(session)


def knowing(facts: Facts, answers: dict[Question[Any], Any]) -> Facts:
    """Return facts with other answers."""
    return replace(facts, answers={**facts.answers, **answers})


def sound(text: str) -> Sound:
    loaded = read_as("dev.yaml", text)
    assert loaded.environment is not None, loaded.problems
    return Sound(loaded.source, resolve(loaded), ())


def rules(problems: tuple[Problem, ...]) -> dict[str, str]:
    """Return messages by rule; most tests gather some facts only, of which PRE-005 tells."""
    return {each.rule: each.message for each in problems if each.rule != "PRE-005"}


@pytest.fixture(scope="module")
def account() -> Iterator[Account]:
    quotas: dict[tuple[str, str], float] = {}
    with EmbeddedAws(account=ACCOUNT, region=REGION, quotas=quotas) as aws:
        aws.start(CloudOnlyPlatform())
        yield Account(aws.clients(), quotas, aws.endpoint)


def test_the_account_and_the_region(account: Account) -> None:
    other = OWN.replace(ACCOUNT, "999988887777")
    assert f"account {ACCOUNT}" in account.finds(other, "region_status")["PRE-003"]
    assert account.finds(OWN, "region_status") == {}
    closed = OWN.replace("us-west-2", "ap-east-1")
    assert "not-opted-in" in account.finds(closed, "region_status")["PRE-004"]


def test_instances_of_each_type_and_of_the_cluster(account: Account) -> None:
    p5 = group(instance_type="ml.p5.48xlarge", count="25")
    found = account.finds(p5, "quotas", "clusters")
    assert found["PRE-101"].endswith("cluster usage' is 0; this needs 25")
    assert PER_CLUSTER in found["PRE-102"]
    account.quotas.update({("sagemaker", "L-8762A75F"): 25, ("sagemaker", "L-2CE978FC"): 26})
    assert account.finds(p5, "quotas", "clusters") == {}
    account.quotas[("sagemaker", "L-3308CCC7")] = 25
    assert ALL_CLUSTERS in account.finds(p5, "quotas", "clusters")["PRE-102"]
    account.quotas.clear()


def test_volumes_have_a_quota(account: Account) -> None:
    assert (
        "1024"
        in account.finds(group(instance_type="ml.m5.xlarge", volume_gib="2048"), "quotas")[
            "PRE-103"
        ]
    )
    assert account.finds(group(instance_type="ml.m5.xlarge", volume_gib="1024"), "quotas") == {}


@pytest.mark.parametrize(
    ("rule", "service", "code"),
    [
        ("PRE-104", "vpc", "L-F678F1CE"),
        ("PRE-104", "vpc", "L-A4707A72"),
        ("PRE-104", "ec2", "L-0263D0A3"),
        ("PRE-105", "vpc", "L-DF5E4CA3"),
        ("PRE-106", "fsx", "L-FD6F2F22"),
        ("PRE-106", "fsx", "L-8F1B9C74"),
    ],
)
def test_what_is_made_has_quotas(account: Account, rule: str, service: str, code: str) -> None:
    fields = ("quotas", "usage", "file_systems")
    account.quotas[(service, code)] = 0
    assert code in account.finds(OWN, *fields)[rule]
    account.quotas.clear()
    assert account.finds(OWN, *fields) == {}


def test_endpoints_and_databases_have_quotas(account: Account) -> None:
    wanted = OWN.replace("network:", "network:\n  interface_endpoints: [ecr.api]")
    wanted += "slurm: {rds: {}}\n"
    account.quotas.update({("vpc", "L-29B6F2EB"): 0, ("rds", "L-7B6409FD"): 0})
    found = account.finds(wanted, "quotas", "usage", "databases")
    assert "L-29B6F2EB" in found["PRE-104"]
    assert "L-7B6409FD" in found["PRE-107"]
    account.quotas.clear()
    assert account.finds(wanted, "quotas", "usage", "databases") == {}


def test_zones_and_what_is_offered_there(account: Account) -> None:
    none = OWN.replace("usw2-az2", "us-west-2f")
    assert "PRE-201" in account.finds(none, "zones")
    scarce = group(instance_type="ml.p6e-gb200.36xlarge")
    facts = account.facts(scarce, "zones", "offerings")
    assert "us-west-2a" in {each.name for each in facts[ZONES] or ()}
    offered = {"ml.m5.large": ("usw2-az2",), "ml.p6e-gb200.36xlarge": ("usw2-az1",)}
    found = rules(check(sound(scarce), knowing(facts, {OFFERINGS: offered})))
    assert "no ml.p6e-gb200.36xlarge in usw2-az2" in found["PRE-202"]
    assert account.finds(OWN, "zones", "offerings") == {}


def test_training_plans(account: Account) -> None:
    planned = group(instance_type="ml.p5.48xlarge", count="2", training_plan_arn=PLAN)
    fields = ("zones", "training_plans", "clusters")
    assert "PRE-211" in account.finds(planned, *fields)
    Existing(account.aws).training_plan(PLAN, instance_type="ml.p5.48xlarge", zone="usw2-az2")
    assert account.finds(planned, *fields) == {}
    other = planned.replace("ml.p5.48xlarge", "ml.p4d.24xlarge").replace("usw2-az2", "usw2-az1")
    assert "us-west-2a (usw2-az2)" in account.finds(other, *fields)["PRE-212"]
    assert (
        "256 instances"
        in account.finds(planned.replace("count: 2", "count: 300"), *fields)["PRE-213"]
    )
    facts = account.facts(planned, *fields)
    for moment in (timedelta(days=-1), timedelta(days=180)):
        later = replace(facts, taken_at=facts.taken_at + moment)
        assert "PRE-214" in rules(check(sound(planned), later))


@pytest.mark.parametrize(
    ("max_time", "days_left", "message"),
    [
        (None, 29, "jobs in cpu may run without a limit; nodes of 'workers' end in 28 days"),
        (None, 31, None),
        ("40-00:00:00", 35, "jobs in cpu may run for 40 days, 0:00:00; nodes of"),
        ("1-00:00:00", 2, None),
        ("UNLIMITED", 29, "without a limit"),
        ("1-00:00:00", 0, None),
    ],
)
def test_jobs_that_outlive_their_training_plan(
    account: Account, max_time: str | None, days_left: int, message: str | None
) -> None:
    planned = group(instance_type="ml.p5.48xlarge", count="2", training_plan_arn=PLAN)
    limit = f"slurm: {{partitions: [{{name: cpu, max_time: '{max_time}'}}]}}\n" if max_time else ""
    Existing(account.aws).training_plan(PLAN, instance_type="ml.p5.48xlarge", zone="usw2-az2")
    facts = account.facts(planned, "zones", "training_plans", "clusters")
    plan = (facts[TRAINING_PLANS] or {})[PLAN]
    assert plan
    assert plan.ends
    later = replace(facts, taken_at=plan.ends - timedelta(days=days_left))
    found = rules(check(sound(f"{planned}{limit}"), later)).get("PRE-215")
    assert (found is None) == (message is None)
    assert message is None or message in str(found)


def test_an_existing_network(account: Account) -> None:
    ec2, fields = account.aws.ec2, ("network", "zones")
    assert "account has no" in account.finds(EXISTING, *fields)["PRE-301"]
    own = Existing(account.aws)
    own.vpc(VPC, ["10.0.0.0/16"])
    own.subnet(SUBNET, VPC, cidr="10.0.0.0/28", zone="usw2-az2")
    own.route_table("rtb-0a1b2c3d4e5f60718", VPC)
    own.security_group(GROUP, VPC)
    for switch in ("EnableDnsSupport", "EnableDnsHostnames"):
        ec2.modify_vpc_attribute(VpcId=VPC, **{switch: {"Value": False}})  # type: ignore[arg-type]
    ec2.revoke_security_group_egress(GroupId=GROUP, IpPermissions=[EVERYTHING])  # type: ignore[list-item]
    ec2.revoke_security_group_egress(
        GroupId=GROUP, IpPermissions=[{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]
    )
    wrong = EXISTING.replace(
        "zone: usw2-az2, cidr: 10.0.0.0/28", "zone: usw2-az1, cidr: 10.0.0.0/24"
    )
    wrong = wrong.replace("ml.m5.xlarge", "ml.p5.48xlarge")
    found = account.finds(wrong, *fields)
    assert set(found) == {"PRE-302", "PRE-303", "PRE-304", "PRE-305", "PRE-306"}
    many = EXISTING.replace("ml.m5.xlarge", "ml.p5.48xlarge")
    assert "11 free addresses" in account.finds(many, *fields)["PRE-108"]
    ec2.authorize_security_group_egress(GroupId=GROUP, IpPermissions=[EVERYTHING])  # type: ignore[list-item]
    for switch in ("EnableDnsSupport", "EnableDnsHostnames"):
        ec2.modify_vpc_attribute(VpcId=VPC, **{switch: {"Value": True}})  # type: ignore[arg-type]
    _route(account, "igw")
    assert "is a public subnet" in account.finds(EXISTING, *fields)["PRE-303"]
    _route(account, "nat")
    assert account.finds(EXISTING, *fields) == {}


def _route(account: Account, kind: str) -> None:
    """Lead the subnet's traffic to a new gateway."""
    ec2 = account.aws.ec2
    tables = ec2.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [VPC]}])["RouteTables"]
    (main,) = (
        each["RouteTableId"]
        for each in tables
        if any(association.get("Main") for association in each["Associations"])
    )
    everywhere: Any = {"RouteTableId": main, "DestinationCidrBlock": "0.0.0.0/0"}
    if kind == "igw":
        gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
        ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=VPC)
        ec2.create_route(**everywhere, GatewayId=gateway)
        return
    address = ec2.allocate_address(Domain="vpc")["AllocationId"]
    nat = ec2.create_nat_gateway(SubnetId=SUBNET, AllocationId=address)["NatGateway"]
    ec2.replace_route(**everywhere, NatGatewayId=nat["NatGatewayId"])


def test_endpoints_of_an_existing_network(account: Account) -> None:
    Existing(account.aws).vpc(VPC, ["10.0.0.0/16"])
    closed = EXISTING.replace("network:", "network:\n  closed: true").replace(
        "    route_table_ids: [rtb-0a1b2c3d4e5f60718]", "    has_endpoints: true"
    )
    assert "no endpoints for ec2, ec2messages" in account.finds(closed, "network")["PRE-307"]
    Existing(account.aws).subnet(SUBNET, VPC, cidr="10.0.0.0/28", zone="usw2-az2")
    for service in account.finds(closed, "network")["PRE-307"].partition("for ")[2].split(", "):
        name = f"com.amazonaws.{REGION}.{service}"
        if service == "s3":
            account.aws.ec2.create_vpc_endpoint(VpcId=VPC, ServiceName=name)
        else:
            account.aws.ec2.create_vpc_endpoint(
                VpcId=VPC, ServiceName=name, VpcEndpointType="Interface", PrivateDnsEnabled=True
            )
    assert "PRE-307" not in account.finds(closed, "network")
    twice = closed.replace("    has_endpoints: true\n", "")
    assert "PRE-308" in account.finds(twice, "network", "stacks")
    assert "PRE-308" not in account.finds(closed, "network", "stacks")


def test_existing_file_systems(account: Account) -> None:
    mounted = OWN.replace(
        "capacity_gib: 1200", "existing: {id: fs-0123456789abcdef0, mount_name: fsx12345}"
    )
    assert "PRE-309" in account.finds(mounted, "file_systems")
    subnet = account.aws.ec2.describe_subnets()["Subnets"][0]
    place = {"SubnetIds": [subnet["SubnetId"]], "SecurityGroupIds": ["sg-0a1b2c3d4e5f60719"]}
    Existing(account.aws).security_group("sg-0a1b2c3d4e5f60719", subnet["VpcId"])
    Existing(account.aws).lustre("fs-0123456789abcdef0", "fsx12345", place)
    assert account.finds(mounted, "file_systems") == {}
    renamed = mounted.replace("fsx12345", "fsx54321")
    assert "mount name fsx12345" in account.finds(renamed, "file_systems")["PRE-309"]


def test_buckets_and_their_policies(account: Account) -> None:
    mounted = OWN.replace("cluster:", MOUNT)
    assert "PRE-401" in account.finds(mounted, "buckets")
    Existing(account.aws).bucket(BUCKET)
    assert account.finds(mounted, "buckets") == {}
    east = mounted.replace("us-west-2", "us-east-1").replace("usw2-az2", "use1-az2")
    assert "is in us-west-2" in account.finds(east, "buckets")["PRE-403"]
    account.aws.s3.put_bucket_encryption(
        Bucket=BUCKET,
        ServerSideEncryptionConfiguration={
            "Rules": [
                {
                    "ApplyServerSideEncryptionByDefault": {
                        "SSEAlgorithm": "aws:kms",
                        "KMSMasterKeyID": KEY,
                    }
                }
            ]
        },
    )
    _shut(account, BUCKET)
    assert set(account.finds(mounted, "buckets")) == {"PRE-404", "PRE-405"}
    named = mounted.replace("mount_path: /data", f"mount_path: /data, kms_key_arn: '{KEY}'")
    assert set(account.finds(named, "buckets")) == {"PRE-405"}
    account.aws.s3.delete_bucket_policy(Bucket=BUCKET)
    assert account.finds(named, "buckets") == {}


def test_an_endpoint_has_a_quota_a_model_and_an_image(account: Account) -> None:
    model = "s3://models-of-ours/gpt-j/model.tar.gz"
    image = f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/gpt-j:1.0"
    text = served_text(
        model_data=model, image=image, instance_type="ml.g5.xlarge", delete_after="2027-03-31"
    ).replace("123456789012", ACCOUNT)
    fields = ("quotas", "buckets", "endpoint", "stacks")
    found = account.finds(text, *fields)
    assert set(found) == {"PRE-401", "PRE-901", "PRE-903", "PRE-904"}
    assert found["PRE-901"].endswith("endpoint usage' is 0; this needs 1")
    account.quotas[("sagemaker", "L-1928E07B")] = 1
    own = Existing(account.aws)
    own.bucket("models-of-ours")
    own.container_image("gpt-j", "0.9")
    assert set(account.finds(text, *fields)) == {"PRE-903", "PRE-904"}
    own.model("models-of-ours", "gpt-j/model.tar.gz")
    own.container_image("gpt-j", "1.0")
    assert account.finds(text, *fields) == {}
    folder = text.replace("gpt-j/model.tar.gz", "gpt-2/")
    assert "no file below" in account.finds(folder, "endpoint")["PRE-903"]
    own.model("models-of-ours", "gpt-2/")
    assert account.finds(folder, "endpoint") == {}
    facts = account.facts(text, *fields)
    late = replace(facts, taken_at=datetime(2027, 4, 1, tzinfo=UTC))
    assert rules(check(sound(text), late)) == {"PRE-906": "2027-03-31 is over"}
    closed = knowing(facts, {ENDPOINT: EndpointFacts("InService", None, has_image=None)})
    assert set(rules(check(sound(text), closed))) == {"PRE-902", "PRE-905"}
    account.quotas.clear()


def test_a_notebook_has_a_quota_and_a_name(account: Account) -> None:
    text = served_text(services={"notebook": {}}).replace("123456789012", ACCOUNT)
    fields = ("notebook_status", "stacks")
    assert account.finds(text, *fields) == {}
    sagemaker = account.aws.sagemaker
    sagemaker.create_notebook_instance(
        NotebookInstanceName="dev", InstanceType="ml.t3.medium", RoleArn=ROLE
    )
    facts = account.facts(text, *fields)
    name = "ml.t3.medium for notebook instance usage"
    none = knowing(facts, {QUOTAS: (Quota("sagemaker", "L-0", name, 0.0),)})
    found = rules(check(sound(text), none))
    assert set(found) == {"PRE-911", "PRE-912"}
    assert "there is already a notebook instance" in found["PRE-912"]


def _shut(account: Account, bucket: str) -> None:
    statement = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:GetObject",
        "Resource": f"arn:aws:s3:::{bucket}/*",
        "Condition": {"StringNotEquals": {"aws:SourceVpc": "vpc-of-others"}},
    }
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    account.aws.s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps(policy))


def test_keys_and_their_policies(account: Account) -> None:
    logged = OWN.replace("network:", f"network:\n  flow_logs: {{kms_key_arn: '{KEY}'}}")
    assert "PRE-411" in account.finds(logged, "keys")
    nobody = {"AWS": f"arn:aws:iam::{ACCOUNT}:user/nobody"}
    Existing(account.aws).key(KEY, _key_policy(nobody))
    kms = account.aws.service("kms")
    kms.disable_key(KeyId=KEY.rpartition("/")[2])
    assert set(account.finds(logged, "keys")) == {"PRE-411", "PRE-412", "PRE-413"}
    kms.enable_key(KeyId=KEY.rpartition("/")[2])
    root, logs = f"arn:aws:iam::{ACCOUNT}:root", f"logs.{REGION}.amazonaws.com"
    everybody = {"AWS": root, "Service": logs}
    kms.put_key_policy(KeyId=KEY, PolicyName="default", Policy=json.dumps(_key_policy(everybody)))
    assert account.finds(logged, "keys") == {}


def _key_policy(principal: dict[str, str]) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Principal": principal, "Action": "kms:*", "Resource": "*"}
    return {"Version": "2012-10-17", "Statement": [statement]}


def test_secrets_and_what_is_in_them(account: Account) -> None:
    database = f"{{endpoint: db.example.com, secret_arn: '{SECRET}'}}"
    records = f"{OWN}slurm: {{accounting_database: {database}}}\n"
    assert "PRE-421" in account.finds(records, "secrets")
    Existing(account.aws).secret(SECRET, {"username": "admin", "pasword": "hidden-from-facts"})
    assert account.finds(records, "secrets")["PRE-422"].endswith("it has pasword, username")
    assert "hidden" not in repr(account.facts(records, "secrets"))
    manager = account.aws.service("secretsmanager")
    manager.put_secret_value(SecretId=SECRET, SecretString='{"username": "a", "password": "b"}')
    assert account.finds(records, "secrets") == {}
    manager.delete_secret(SecretId=SECRET)
    assert "deleted" in account.finds(records, "secrets")["PRE-421"]


def test_a_secret_without_a_value_is_there(account: Account) -> None:
    manager = account.aws.service("secretsmanager")
    empty = manager.create_secret(Name="empty")["ARN"]
    database = f"{{endpoint: db.example.com, secret_arn: '{empty}'}}"
    found = account.finds(f"{OWN}slurm: {{accounting_database: {database}}}\n", "secrets")
    assert set(found) == {"PRE-422"}
    assert found["PRE-422"].endswith("it has no JSON")


def test_secrets_of_jobs_are_there_and_stay_closed(account: Account) -> None:
    of_jobs = SECRET.replace("slurm/dbd", "hub")
    text = f"{OWN}identity: {{job_secrets: [{{secret_arn: '{of_jobs}'}}]}}\n"
    assert "PRE-421" in account.finds(text, "secrets")
    Existing(account.aws).secret(of_jobs, {"any": "text"})
    assert account.finds(text, "secrets") == {}
    known = account.facts(text, "secrets")[SECRETS]
    assert known
    assert known[of_jobs].entries is None  # type: ignore[union-attr]


def test_images(account: Account) -> None:
    from moto.ec2.models import ec2_backends  # here: it reads for long what other tests never need

    with_image = group(instance_type="ml.m5.xlarge", image_id="ami-0123456789abcdef0")
    assert "PRE-501" in account.finds(with_image, "images")
    for architecture, expected in (("arm64", {"PRE-502"}), ("x86_64", set[str]())):
        id_ = account.aws.ec2.register_image(Name=architecture)["ImageId"]
        ec2_backends[ACCOUNT][REGION].amis[id_].architecture = architecture
        text = with_image.replace("ami-0123456789abcdef0", id_)
        assert set(account.finds(text, "images")) == expected
        assert list(image_names(sound(text).resolved)) == [id_]
    facts = account.facts(text, "images")
    later = replace(facts, taken_at=facts.taken_at + timedelta(days=181))
    assert "days old" in rules(check(sound(text), later))["PRE-503"]


def test_the_bootstrap(account: Account) -> None:
    assert "not bootstrapped" in account.finds(OWN, "bootstrap")["PRE-601"]
    for version in ("5", "21"):
        account.aws.service("ssm").put_parameter(
            Name="/cdk-bootstrap/hnb659fds/version", Value=version, Type="String", Overwrite=True
        )
        assert ("PRE-601" in account.finds(OWN, "bootstrap")) == (version == "5")


def test_stacks_and_names(account: Account) -> None:
    cloudformation = account.aws.service("cloudformation")
    broken = {"B": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": BUCKET}}}
    Existing(account.aws).bucket(BUCKET)
    fine = {"B": {"Type": "AWS::S3::Bucket", "DeletionPolicy": "Retain"}}
    for name, resources in (("dev-network", broken), ("dev-lifecycle", fine)):
        cloudformation.create_stack(
            StackName=name, TemplateBody=json.dumps({"Resources": resources})
        )
        _wait_for(cloudformation, name)
    facts = account.facts(OWN, "stacks")
    assert facts[STACKS] == {"dev-network": "ROLLBACK_COMPLETE", "dev-lifecycle": "CREATE_COMPLETE"}
    assert check(sound(OWN), facts) == ()  # the CDK deletes what was rolled back, and goes on
    for status in ("DELETE_FAILED", "UPDATE_ROLLBACK_FAILED", "UPDATE_IN_PROGRESS"):
        stuck = knowing(facts, {STACKS: {"dev-network": status}})
        assert f"dev-network is {status}" in rules(check(sound(OWN), stuck))["PRE-602"]
    failed = {"dev-network": (FailedRollback("Files", "too small"), FailedRollback("Nodes", ""))}
    stuck = knowing(facts, {STACKS: dict.fromkeys(failed, STUCK), FAILED_ROLLBACKS: failed})
    (problem,) = check(sound(OWN), stuck)
    assert (
        problem.message
        == "the stack dev-network is UPDATE_ROLLBACK_FAILED: Files (too small); Nodes"
    )
    assert "continue-update-rollback --stack-name dev-network;" in problem.fix
    assert "--resources-to-skip Files Nodes:" in problem.fix
    assert account.finds(OWN, "leftovers") == {}
    for name in ("dev-network", "dev-lifecycle"):
        cloudformation.delete_stack(StackName=name)
        cloudformation.get_waiter("stack_delete_complete").wait(
            StackName=name, WaiterConfig={"Delay": 0.05}
        )
    assert account.finds(OWN, "stacks") == {}
    assert "AWS::S3::Bucket" in account.finds(OWN, "leftovers")["PRE-604"]


def test_what_a_stack_could_not_change_back_is_named(account: Account) -> None:
    stacks = Stacks(account.aws)
    stacks.deploy("dev-storage", {**FILES_NETWORK, "Files": lustre()})
    broken = resource("EC2::Subnet", VpcId=ref("Vpc"), CidrBlock="192.168.0.0/24")
    broken["DependsOn"] = "Files"  # files that have grown do not shrink again
    changed = {**FILES_NETWORK, "Files": lustre(2400), "Broken": broken}
    assert stacks.deploy("dev-storage", changed).status == STUCK
    found = account.finds(OWN, "stacks", "failed_rollbacks")["PRE-602"]
    assert found.startswith(f"the stack dev-storage is {STUCK}: Files (")
    assert "2400 GiB, not 1200" in found
    stacks.delete("dev-storage")


def _wait_for(cloudformation: Any, stack: str) -> None:
    while True:
        (found,) = cloudformation.describe_stacks(StackName=stack)["Stacks"]
        if not found["StackStatus"].endswith("_IN_PROGRESS"):
            return


def test_names_that_others_have(account: Account) -> None:
    assert account.finds(OWN, "stacks", "clusters") == {}
    (subnet, *_) = account.aws.ec2.describe_subnets()["Subnets"]
    groups = ["sg-0a1b2c3d4e5f60720"]
    Existing(account.aws).security_group(groups[0], subnet["VpcId"])
    account.aws.sagemaker.create_cluster(
        ClusterName="dev",
        VpcConfig={"Subnets": [subnet["SubnetId"]], "SecurityGroupIds": groups},
        InstanceGroups=[
            {
                "InstanceGroupName": "controller",
                "InstanceType": "ml.m5.large",
                "InstanceCount": 1,
                "ExecutionRole": ROLE,
                "LifeCycleConfig": {"SourceS3Uri": "s3://sagemaker-x/y", "OnCreate": "on.sh"},
            }
        ],
    )
    assert "that slurmpod did not create" in account.finds(OWN, "stacks", "clusters")["PRE-603"]


def test_roles_and_policies(account: Account) -> None:
    policy = f"arn:aws:iam::{ACCOUNT}:policy/more"
    named = f"{OWN}identity: {{existing: {{controller: '{ROLE}'}}, policy_arns: ['{policy}']}}\n"
    found = account.finds(named, "identity")
    assert (found["PRE-702"], found["PRE-703"]) == (
        "there is no such role in the account",
        "there is no such policy",
    )
    make_identity(account.aws, sound(named).resolved)
    assert account.finds(named, "identity") == {}
    everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    account.aws.iam.put_role_policy(
        RoleName="nodes",
        PolicyName="more",
        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [everything]}),
    )
    assert account.finds(named, "identity") == {
        "PRE-704": "every user of its nodes can do anything in the account (*)"
    }
    account.aws.iam.delete_role_policy(RoleName="nodes", PolicyName="more")
    account.aws.iam.delete_role_policy(RoleName="nodes", PolicyName="nodes-1")
    assert f"{ROLE} does not allow" in account.finds(named, "identity")["PRE-702"]


def test_topics_and_addresses(account: Account) -> None:
    multi = (ROOT / "environments/examples/multi-head.yaml").read_text()
    (line,) = (each for each in multi.splitlines() if "sns_topic_arn" in each)
    told = multi.replace(line, f"    sns_topic_arn: {TOPIC}").replace("123456789012", ACCOUNT)
    assert "PRE-801" in account.finds(told, "topics")
    account.aws.service("sns").create_topic(Name="takeovers")
    assert account.finds(told, "topics") == {}
    watched = f"{OWN}monitoring: {{notify: {{critical: {{emails: [a@example.com]}}}}}}\n"
    waiting = knowing(account.facts(watched), {UNCONFIRMED_EMAILS: ("a@example.com",)})
    assert "PRE-802" in rules(check(sound(watched), waiting))
    assert account.finds(watched, "unconfirmed_emails") == {}


def test_sign_in_and_cost_tags(account: Account) -> None:
    grafana = f"{OWN}monitoring: {{prometheus: {{}}, grafana: {{sign_in: sso}}}}\n"
    assert account.finds(grafana, "has_identity_center") == {}
    without = knowing(account.facts(grafana), {HAS_IDENTITY_CENTER: False})
    assert "PRE-803" in rules(check(sound(grafana), without))
    budget = f"{OWN}budget: {{monthly_usd: 100, emails: [a@example.com]}}\n"
    for status, fails in (("Inactive", True), ("Active", False)):
        tagged = knowing(account.facts(budget), {COST_TAGS: {"slurmpod:environment": status}})
        assert ("PRE-804" in rules(check(sound(budget), tagged))) == fails


def _user(account: Account, *statements: dict[str, Any]) -> dict[str, str]:
    """Make a user with these rights and return its credentials."""
    iam = account.aws.iam
    name = f"user-{len(iam.list_users()['Users'])}"
    iam.create_user(UserName=name)
    policy = {"Version": "2012-10-17", "Statement": list(statements)}
    iam.put_user_policy(UserName=name, PolicyName="p", PolicyDocument=json.dumps(policy))
    return dict(iam.create_access_key(UserName=name)["AccessKey"])  # type: ignore[arg-type]


def _allow(*actions: str) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": list(actions), "Resource": "*"}


def test_who_may_deploy(account: Account) -> None:
    for actions, may in (((), False), (("sts:AssumeRole",), True)):
        rights = _allow("iam:SimulatePrincipalPolicy", "sts:GetCallerIdentity", *actions)
        clients = account.clients(**_user(account, rights))
        assumable = answer(ASSUMABLE, clients, sound(OWN).resolved)
        facts = knowing(account.facts(OWN), {ASSUMABLE: assumable})
        assert ("PRE-701" in rules(check(sound(OWN), facts))) != may


@pytest.fixture
def preflight(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    (tmp_path / "dev.yaml").write_text(OWN)

    def command(*options: str) -> tuple[int, str, str]:
        code = run(["preflight", str(tmp_path / "dev.yaml"), *options])
        return code, *capsys.readouterr()

    return command


Command = Callable[..., tuple[int, str, str]]


def test_the_listed_rights_suffice_and_each_that_lacks_is_told(
    account: Account, preflight: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = {action for each in (CALLER, *QUESTIONS) for action in each.actions}
    for lacking, expected in (((), set[str]()), (("fsx:DescribeFileSystems",), {"PRE-002"})):
        user = _user(account, _allow(*(listed - set(lacking)), "sts:AssumeRole"))
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", user["AccessKeyId"])
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", user["SecretAccessKey"])
        _, out, err = preflight("--json")
        problems = json.loads(out)["problems"]
        refused = {each["rule"]: each["message"] for each in problems}
        assert refused.keys() & {"PRE-001", "PRE-002"} == expected, refused
        assert "Traceback" not in err
    denied = [each["message"] for each in problems if each["rule"] == "PRE-002"]
    assert denied[0].startswith("cannot ask about file systems: AccessDenied")


def test_what_is_closed_is_told(account: Account) -> None:
    name, secret = "a-closed-bucket", SECRET.replace("dbd-AbCdEf", "other-AbCdEf")
    Existing(account.aws).bucket(name)
    Existing(account.aws).secret(secret, {"password": "b"})
    text = OWN.replace("cluster:", MOUNT.replace(BUCKET, name))
    text += (
        f"slurm: {{accounting_database: {{endpoint: db.example.com, secret_arn: '{secret}'}}}}\n"
    )
    rights = ("sts:GetCallerIdentity", "s3:ListBucket", "secretsmanager:DescribeSecret")
    clients, resolved = account.clients(**_user(account, _allow(*rights))), sound(text).resolved
    known = {
        each: answer(each, clients, resolved)
        for each in QUESTIONS
        if each.field in ("buckets", "secrets")
    }
    problems = check(sound(text), knowing(account.facts(text), known))
    closed = [each.message for each in problems if each.rule == "PRE-006"]
    assert closed == [
        f"s3:GetEncryptionConfiguration, s3:GetBucketPolicy is denied: {name} is not checked",
        f"secretsmanager:GetSecretValue is denied: {secret} is not checked",
    ]


def test_without_credentials_only_that_is_told(
    account: Account, preflight: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    code, out, _ = preflight()
    assert code == ExitCode.FAILED
    assert out.count("[PRE-") == 1
    assert "Unable to locate credentials [PRE-001]" in out


def test_facts_are_saved_and_judged_later(
    account: Account, preflight: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = tmp_path / "facts.json"
    _, first, _ = preflight("--save-facts", str(saved))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    _, second, _ = preflight("--facts", str(saved))
    assert first == second
    (tmp_path / "dev.yaml").write_text(OWN.replace("cluster:", MOUNT))
    assert (
        "the facts do not cover a-bucket-of-ours [PRE-005]" in preflight("--facts", str(saved))[1]
    )
    (tmp_path / "dev.yaml").write_text(OWN.replace("name: dev", "name: other"))
    assert "facts of dev in us-west-2, not of other" in preflight("--facts", str(saved))[2]
    saved.write_text('{"environment": "other"}')
    code, _, err = preflight("--facts", str(saved))
    assert (code, "holds no facts" in err) == (ExitCode.FAILED, True)
