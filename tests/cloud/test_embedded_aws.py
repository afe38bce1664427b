"""The real CDK CLI, AWS CLI and boto3 against the embedded AWS: one whole life of an environment.

The tests look at one life as it goes on: first those of what was deployed, then, after the fixture
`ended` has gone on with it, those of its changes, failures and end.
"""

from __future__ import annotations

import ipaddress
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from embedded_aws.clients import Clients
from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.server import AlreadyRunning, EmbeddedAws, PortInUse
from tests.cloud.embedded_aws_life import (
    BIN,
    FAILURE,
    Life,
    Trap,
    WatchedPlatform,
    begin,
    dangerous_variables,
    end,
    synthesize_variants,
)

ACCOUNT = "111122223333"
REGION = "us-west-2"
SCRIPTS = f"sagemaker-scripts-{ACCOUNT}-{REGION}"


@pytest.fixture(scope="module")
def trap() -> Iterator[Trap]:
    with Trap() as trap:
        yield trap


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory, trap: Trap) -> Iterator[Life]:
    folder = tmp_path_factory.mktemp("embedded-aws")
    synthesize_variants(folder / "assemblies", account=ACCOUNT, region=REGION)
    with pytest.MonkeyPatch.context() as patch, EmbeddedAws(account=ACCOUNT, region=REGION) as aws:
        for name, value in dangerous_variables(folder / "home", trap).items():
            patch.setenv(name, value)
        platform = WatchedPlatform()
        aws.start(platform)
        platform.clients = aws.clients()
        life = Life(aws, folder / "assemblies", platform)
        begin(life)
        yield life


@pytest.fixture(scope="module")
def ended(deployed: Life) -> Life:
    end(deployed)
    return deployed


@pytest.fixture
def clients(deployed: Life) -> Clients:
    return deployed.aws.clients()


def test_the_cdk_deploys_a_whole_environment(deployed: Life) -> None:
    for step in ("bootstrap", "diff before", "deploy"):
        assert deployed.steps[step].exit_status == 0, deployed.steps[step].output
    assert "[+] AWS::EC2::FlowLog" in deployed.steps["diff before"].output
    assert deployed.facts["deployed"]["stacks"] == dict.fromkeys(
        ["Cluster-rehearsed", "Identity", "Lifecycle", "Storage", "Network", "CDKToolkit"],
        "CREATE_COMPLETE",
    )


def test_the_cdk_shows_the_progress_of_resources(deployed: Life) -> None:
    lines = [
        line.split("|")[3].strip()
        for line in deployed.steps["deploy"].output.splitlines()
        if "AWS::SageMaker::Cluster" in line and line.count("|") > 4
    ]

    assert lines == ["CREATE_IN_PROGRESS", "CREATE_IN_PROGRESS", "CREATE_COMPLETE"]


def test_the_cdk_finds_no_difference_and_nothing_to_do(deployed: Life) -> None:
    assert deployed.steps["diff"].exit_status == deployed.steps["deploy again"].exit_status == 0
    assert "Number of stacks with differences: 0" in deployed.steps["diff"].output
    assert deployed.steps["deploy again"].output.count("(no changes)") == 5


def test_nothing_of_what_was_deployed_has_drifted(clients: Clients) -> None:
    api = clients.service("cloudformation")
    drifts = []
    for stack in api.describe_stacks()["Stacks"]:
        api.detect_stack_drift(StackName=stack["StackId"])
        found = api.describe_stack_resource_drifts(StackName=stack["StackId"])
        drifts += found["StackResourceDrifts"]
    assert [each for each in drifts if each["PropertyDifferences"]] == []
    looked_at = {(each["ResourceType"], each["StackResourceDriftStatus"]) for each in drifts}
    assert ("AWS::EC2::VPC", "IN_SYNC") in looked_at
    assert {status for _, status in looked_at} == {"IN_SYNC", "NOT_CHECKED"}


def test_everything_can_be_watched_while_a_cluster_is_created(deployed: Life) -> None:
    assert deployed.platform.seen == {
        "cluster": "Creating",
        "nodes": {"Pending"},
        "stack": "CREATE_IN_PROGRESS",
        "last event": ("AWS::SageMaker::Cluster", "CREATE_IN_PROGRESS"),
    }


def test_the_aws_cli_sees_the_cluster_and_its_nodes(deployed: Life) -> None:
    cluster = json.loads(
        deployed.aws_cli("sagemaker", "describe-cluster", "--cluster-name", "rehearsed")
    )
    assert cluster["ClusterStatus"] == "InService"
    assert cluster["NodeRecovery"] == "Automatic"
    assert [
        (group["InstanceGroupName"], group["CurrentCount"], group["TargetCount"], group["Status"])
        for group in cluster["InstanceGroups"]
    ] == [("controller", 1, 1, "InService"), ("workers", 2, 2, "InService")]

    nodes = json.loads(
        deployed.aws_cli(
            "sagemaker", "list-cluster-nodes", "--cluster-name", cluster["ClusterArn"],
            "--instance-group-name-contains", "work", "--page-size", "1",
        )
    )["ClusterNodeSummaries"]  # fmt: skip
    assert [node["InstanceGroupName"] for node in nodes] == ["workers", "workers"]

    node = json.loads(
        deployed.aws_cli(
            "sagemaker", "describe-cluster-node",
            "--cluster-name", "rehearsed", "--node-id", nodes[0]["InstanceId"],
        )
    )["NodeDetails"]  # fmt: skip
    assert node["InstanceStatus"]["Status"] == "Running"
    assert node["Placement"] == {"AvailabilityZone": "us-west-2a", "AvailabilityZoneId": "usw2-az2"}
    assert node["InstanceStorageConfigs"] == [{"EbsVolumeConfig": {"VolumeSizeInGB": 500}}]
    assert node["PrivateDnsHostname"] == (
        f"ip-{node['PrivatePrimaryIp'].replace('.', '-')}.us-west-2.compute.internal"
    )


def test_ref_of_a_cluster_is_its_arn(deployed: Life) -> None:
    outputs = deployed.facts["deployed"]["outputs"]

    assert outputs["ClusterRef"] == outputs["ClusterArn"]
    assert outputs["ClusterArn"].startswith(f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:cluster/")
    assert outputs["ClusterStatus"] == "InService"


def test_nodes_have_their_own_usable_addresses_in_the_subnet(clients: Clients) -> None:
    cluster = clients.sagemaker.describe_cluster(ClusterName="rehearsed")
    (subnet_id,) = cluster["VpcConfig"]["Subnets"]
    (subnet,) = clients.ec2.describe_subnets(SubnetIds=[subnet_id])["Subnets"]
    network = ipaddress.IPv4Network(subnet["CidrBlock"])
    reserved = {*list(network)[:4], network.broadcast_address}
    interfaces = clients.ec2.describe_network_interfaces(
        Filters=[{"Name": "description", "Values": ["HyperPod cluster rehearsed*"]}]
    )["NetworkInterfaces"]
    addresses = {ipaddress.IPv4Address(interface["PrivateIpAddress"]) for interface in interfaces}

    assert len(addresses) == 3
    assert all(address in network for address in addresses)
    assert not addresses & reserved
    assert {group["GroupId"] for i in interfaces for group in i["Groups"]} == set(
        cluster["VpcConfig"]["SecurityGroupIds"]
    )


def test_the_default_security_group_is_really_restricted(deployed: Life, clients: Clients) -> None:
    (vpc,) = deployed.facts["deployed"]["vpcs"]
    groups = clients.ec2.describe_security_groups(
        Filters=[{"Name": "vpc-id", "Values": [vpc["VpcId"]]}]
    )["SecurityGroups"]
    (default,) = [group for group in groups if group["GroupName"] == "default"]

    assert default["IpPermissions"] == default["IpPermissionsEgress"] == []


def test_node_security_group_allows_itself_in_both_directions(clients: Clients) -> None:
    (group_id,) = clients.sagemaker.describe_cluster(ClusterName="rehearsed")["VpcConfig"][
        "SecurityGroupIds"
    ]
    (group,) = clients.ec2.describe_security_groups(GroupIds=[group_id])["SecurityGroups"]

    for direction in (group["IpPermissions"], group["IpPermissionsEgress"]):
        to_itself = [p for p in direction if p.get("UserIdGroupPairs")]
        assert [p["UserIdGroupPairs"][0]["GroupId"] for p in to_itself] == [group_id]
        assert to_itself[0]["IpProtocol"] == "-1"


def test_the_network_is_as_declared(deployed: Life, clients: Clients) -> None:
    (vpc,) = deployed.facts["deployed"]["vpcs"]
    of_vpc: Any = [{"Name": "vpc-id", "Values": [vpc["VpcId"]]}]
    tables = clients.ec2.describe_route_tables(Filters=of_vpc)["RouteTables"]
    routes = {
        next(key for key in ("NatGatewayId", "GatewayId") if key in route)
        for table in tables
        for route in table["Routes"]
        if route.get("DestinationCidrBlock") == "0.0.0.0/0"
    }
    endpoints = clients.ec2.describe_vpc_endpoints(Filters=of_vpc)["VpcEndpoints"]
    flow_logs = clients.ec2.describe_flow_logs(
        Filters=[{"Name": "resource-id", "Values": [vpc["VpcId"]]}]
    )["FlowLogs"]

    assert routes == {"NatGatewayId", "GatewayId"}
    assert [endpoint["ServiceName"] for endpoint in endpoints] == [f"com.amazonaws.{REGION}.s3"]
    assert [log["TrafficType"] for log in flow_logs] == ["REJECT"]
    assert {"Key": "environment", "Value": "functional-test"} in vpc["Tags"]
    for attribute in ("enableDnsHostnames", "enableDnsSupport"):
        answer: Any = clients.ec2.describe_vpc_attribute(
            VpcId=vpc["VpcId"],
            Attribute=attribute,
        )
        assert answer[attribute[0].upper() + attribute[1:]]["Value"] is True


def test_the_bucket_is_as_declared(clients: Clients) -> None:
    s3 = clients.s3
    (rule,) = s3.get_bucket_encryption(Bucket=SCRIPTS)["ServerSideEncryptionConfiguration"]["Rules"]
    (lifecycle,) = s3.get_bucket_lifecycle_configuration(Bucket=SCRIPTS)["Rules"]
    policy = json.loads(s3.get_bucket_policy(Bucket=SCRIPTS)["Policy"])
    access = s3.get_public_access_block(Bucket=SCRIPTS)["PublicAccessBlockConfiguration"]

    assert rule["ApplyServerSideEncryptionByDefault"]["SSEAlgorithm"] == "AES256"
    assert s3.get_bucket_versioning(Bucket=SCRIPTS)["Status"] == "Enabled"
    assert lifecycle["NoncurrentVersionExpiration"] == {"NoncurrentDays": 30}
    assert all(access.values())
    assert s3.get_bucket_logging(Bucket=SCRIPTS)["LoggingEnabled"]["TargetPrefix"] == "scripts/"
    assert policy["Statement"][0]["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_the_files_are_in_the_bucket_with_deploy_time_values(
    deployed: Life, clients: Clients
) -> None:
    listed = clients.s3.list_objects_v2(Bucket=SCRIPTS, Prefix="lifecycle/v1/")["Contents"]
    keys = {found["Key"].removeprefix("lifecycle/v1/") for found in listed}
    (file_system,) = deployed.facts["deployed"]["file systems"]
    settings = clients.s3.get_object(
        Bucket=SCRIPTS, Key="lifecycle/v1/provisioning_parameters.json"
    )["Body"].read()

    assert keys == {"on_create.sh", "steps/step.py", "provisioning_parameters.json"}
    assert json.loads(settings) == {
        "version": "1.0.0",
        "variant": "first",
        "fsx_dns_name": file_system["DNSName"],
        "fsx_mountname": file_system["LustreConfiguration"]["MountName"],
    }


def test_the_role_has_the_policy_that_aws_manages(clients: Clients) -> None:
    cluster = clients.sagemaker.describe_cluster(ClusterName="rehearsed")
    name = cluster["InstanceGroups"][0]["ExecutionRole"].rpartition("/")[2]
    (attached,) = clients.iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"]

    assert attached["PolicyName"] == "AmazonSageMakerClusterInstanceRolePolicy"
    assert len(clients.iam.list_role_policies(RoleName=name)["PolicyNames"]) == 2


def test_everybody_is_of_the_one_account(deployed: Life, clients: Clients) -> None:
    identity = json.loads(deployed.aws_cli("sts", "get-caller-identity"))
    roles = clients.iam.list_roles()["Roles"]

    assert identity["Account"] == ACCOUNT
    assert {role["Arn"].split(":")[4] for role in roles} == {ACCOUNT}


def test_a_cluster_needs_what_exists_and_a_free_name(clients: Clients) -> None:
    described = clients.sagemaker.describe_cluster(ClusterName="rehearsed")
    group: Any = {
        "InstanceGroupName": "g",
        "InstanceType": "ml.c5.large",
        "InstanceCount": 0,
        "ExecutionRole": described["InstanceGroups"][0]["ExecutionRole"],
        "LifeCycleConfig": described["InstanceGroups"][0]["LifeCycleConfig"],
    }
    network: Any = described["VpcConfig"]
    elsewhere: Any = {**network, "Subnets": ["subnet-00000000"]}

    with pytest.raises(clients.sagemaker.exceptions.ResourceInUse):
        clients.sagemaker.create_cluster(
            ClusterName="rehearsed", InstanceGroups=[group], VpcConfig=network
        )
    with pytest.raises(ClientError, match="subnet-00000000"):
        clients.sagemaker.create_cluster(
            ClusterName="other",
            InstanceGroups=[group],
            VpcConfig=elsewhere,
        )
    with pytest.raises(clients.sagemaker.exceptions.ResourceNotFound):
        clients.sagemaker.describe_cluster(ClusterName="other")


def test_a_subnet_that_is_full_fails_the_cluster(clients: Clients) -> None:
    """Uses the public subnet: a /28 has 11 usable addresses, one of which the NAT gateway has."""
    described = clients.sagemaker.describe_cluster(ClusterName="rehearsed")
    (subnet,) = clients.ec2.describe_subnets(
        Filters=[{"Name": "cidr-block", "Values": ["10.1.0.0/28"]}]
    )["Subnets"]
    clients.sagemaker.create_cluster(
        ClusterName="large",
        InstanceGroups=[
            {
                "InstanceGroupName": "g",
                "InstanceType": "ml.c5.large",
                "InstanceCount": 12,
                "ExecutionRole": described["InstanceGroups"][0]["ExecutionRole"],
                "LifeCycleConfig": described["InstanceGroups"][0]["LifeCycleConfig"],
            }
        ],
        VpcConfig={
            "SecurityGroupIds": described["VpcConfig"]["SecurityGroupIds"],
            "Subnets": [subnet["SubnetId"]],
        },
    )
    while (large := clients.sagemaker.describe_cluster(ClusterName="large"))[
        "ClusterStatus"
    ] == "Creating":
        pass
    nodes = clients.sagemaker.list_cluster_nodes(ClusterName="large")["ClusterNodeSummaries"]
    clients.sagemaker.delete_cluster(ClusterName="large")

    assert large["ClusterStatus"] == "Failed"
    assert "No free IP address for instance group g" in large["FailureMessage"]
    assert len(nodes) == 10


@pytest.mark.parametrize(
    ("service", "operation", "arguments"),
    [
        ("sagemaker", "list_training_jobs", {}),
        ("cloudformation", "create_stack_set", {"StackSetName": "s"}),
        ("ec2", "describe_verified_access_groups", {}),
        ("cloudtrail", "lookup_events", {}),
    ],
)
def test_what_is_not_there_is_refused_by_name(
    clients: Clients, service: str, operation: str, arguments: dict[str, str]
) -> None:
    with pytest.raises(ClientError, match=r"(?i)not supported by the embedded AWS"):
        getattr(clients.service(service), operation)(**arguments)


def test_availability_zones_have_ids_wherever_hyperpod_is(deployed: Life) -> None:
    for region in ("us-east-1", "us-east-2", "us-west-2", "eu-west-1", "ap-northeast-1"):
        zones = deployed.aws.clients(region).ec2.describe_availability_zones()["AvailabilityZones"]
        assert len(zones) >= 3
        assert all(zone["ZoneId"].rpartition("-az")[2].isdigit() for zone in zones)


def test_nothing_left_the_loopback(deployed: Life, trap: Trap) -> None:
    assert deployed.steps["deploy again"].exit_status == 0
    assert trap.visitors == []


class TestChangesAndEnd:
    """What `ended` has done."""

    def test_an_update_changes_what_differs_and_nothing_else(self, ended: Life) -> None:
        before, after = ended.facts["deployed"], ended.facts["updated"]

        assert ended.steps["update"].exit_status == 0, ended.steps["update"].output
        assert {
            name for name, status in after["stacks"].items() if status == "UPDATE_COMPLETE"
        } == {
            "Network",
            "Storage",
            "Lifecycle",
        }
        (old,), (new,) = before["file systems"], after["file systems"]
        assert (old["StorageCapacity"], new["StorageCapacity"]) == (1200, 2400)
        assert old["FileSystemId"] == new["FileSystemId"]
        assert len(new["NetworkInterfaceIds"]) == 2
        assert len(after["log groups"]) == len(before["log groups"]) + 1

    def test_an_update_replaces_what_cannot_change(self, ended: Life) -> None:
        before, after = ended.facts["deployed"], ended.facts["updated"]

        assert "/functional-test/first" in before["log groups"]
        assert "/functional-test/updated" in after["log groups"]
        assert "/functional-test/first" not in after["log groups"]

    def test_a_failed_update_says_why_and_changes_nothing(self, ended: Life) -> None:
        step, before, after = (
            ended.steps["broken"],
            ended.facts["updated"],
            ended.facts["broken"],
        )

        assert step.exit_status == 1
        assert "The CIDR '192.168.0.0/24' is invalid" in step.output
        assert after["stacks"]["Network"] == "UPDATE_ROLLBACK_COMPLETE"
        # the log group that only the updated variant has is what this one would have removed
        assert after["log groups"] == before["log groups"]

    def test_unsupported_resources_fail_the_deployment_by_name(self, ended: Life) -> None:
        step = ended.steps["unsupported"]

        assert step.exit_status == 1
        assert "AWS::DynamoDB::Table (Table) is not supported by the embedded AWS" in step.output
        assert "Custom::Thing (Thing) needs the property ServiceToken" in step.output

    def test_the_reason_of_a_failed_cluster_reaches_whoever_deploys(self, ended: Life) -> None:
        step, facts = ended.steps["doomed"], ended.facts["doomed"]

        assert step.exit_status == 1
        assert FAILURE in " ".join(step.output.split())
        assert facts["stacks"]["Cluster-doomed"] == "ROLLBACK_COMPLETE"
        assert [cluster["ClusterName"] for cluster in facts["clusters"]] == ["rehearsed"]
        assert len(facts["interfaces"]) == 3

    def test_a_protected_stack_is_not_destroyed(self, ended: Life) -> None:
        step = ended.steps["destroy protected"]

        assert step.exit_status == 1
        assert (
            "Stack [Network] cannot be deleted while TerminationProtection is enabled"
            in step.output
        )

    def test_what_is_retained_outlives_its_stack_and_blocks_what_it_uses(self, ended: Life) -> None:
        step, facts = ended.steps["destroy blocked"], ended.facts["blocked"]

        assert SCRIPTS in facts["buckets"]
        assert len(facts["file systems"]) == 1
        assert facts["clusters"] == facts["interfaces"] == []
        assert step.exit_status == 1
        assert "DependencyViolation" in step.output
        assert facts["stacks"]["Network"] == "DELETE_FAILED"

    def test_a_destroyed_environment_is_gone(self, ended: Life) -> None:
        facts = ended.facts["destroyed"]

        assert ended.steps["destroy"].exit_status == 0, ended.steps["destroy"].output
        assert sorted(facts["stacks"]) == ["CDKToolkit", "Cluster-doomed"]
        assert facts["vpcs"] == facts["log groups"] == []

    def test_nothing_left_the_loopback_to_the_end(self, ended: Life, trap: Trap) -> None:
        assert ended.steps["destroy"].exit_status == 0
        assert trap.visitors == []


def test_the_trap_catches_what_is_not_isolated(tmp_path: Path) -> None:
    with Trap() as trap:
        variables = {**dangerous_variables(tmp_path / "home", trap), "AWS_MAX_ATTEMPTS": "1"}
        subprocess.run(
            [BIN / "aws", "sts", "get-caller-identity"], env=variables, capture_output=True
        )

        assert "CONNECT" in trap.visitors[0] or "POST" in trap.visitors[0]


def test_a_taken_port_is_reported_with_what_to_do() -> None:
    with EmbeddedAws(account=ACCOUNT, region=REGION) as first:
        port = int(first.endpoint.rpartition(":")[2])

        with pytest.raises(PortInUse, match=rf"Port {port} .* Choose another port"):
            EmbeddedAws(account=ACCOUNT, region=REGION, port=port)
    EmbeddedAws(account=ACCOUNT, region=REGION, port=port).close()


def test_there_is_one_embedded_aws_per_process(deployed: Life) -> None:
    with EmbeddedAws(account=ACCOUNT, region=REGION) as second, pytest.raises(AlreadyRunning):
        second.start(CloudOnlyPlatform())
    assert deployed.aws.clients().s3.list_buckets()["Buckets"]


def test_the_next_embedded_aws_knows_nothing_of_the_last() -> None:
    script = """
from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.server import EmbeddedAws
for _ in range(2):
    with EmbeddedAws(account="111122223333", region="us-west-2") as aws:
        aws.start(CloudOnlyPlatform())
        print(len(aws.clients().s3.list_buckets()["Buckets"]))
        aws.clients().s3.create_bucket(
            Bucket="left", CreateBucketConfiguration={"LocationConstraint": "us-west-2"}
        )
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert (done.stdout, done.stderr) == ("0\n0\n", "")


def test_platforms_import_neither_moto_nor_boto3() -> None:
    script = (
        "import sys, embedded_aws.cluster, embedded_aws.interface\n"
        "print([name for name in ('moto', 'boto3', 'botocore') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert done.stdout == "[]\n"
