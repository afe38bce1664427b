"""A cluster of the embedded AWS changes, a node fails: who is told, and in what words.

The rules, topics and policies are those that the CDK writes for an environment that is watched.
"""

from __future__ import annotations

import json
import runpy
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, ClassVar

import pytest

from embedded_aws.cluster import ClusterNode
from embedded_aws.event_delivery import deliver
from embedded_aws.sagemaker.events import cluster_event, creation_ends, node_health
from tests.cdk_process import start_of_the_cdk
from tests.cloud.embedded_networks import group, subnet, vpc
from tests.cloud.embedded_stacks import ACCOUNT, ref

with start_of_the_cdk():
    from slurmpod_cdk.cluster_watch.node_count import FUNCTION
    from tests.templates.synthesis import of_type
    from tests.templates.watched import section, topics, watched

from collections.abc import Iterator, Mapping

from embedded_aws.clients import Clients
from tests.cloud.embedded_stacks import Stacks
from tests.templates.synthesis import Resource, Template

ROLE = f"arn:aws:iam::{ACCOUNT}:role/nodes"
SCRIPTS = {"SourceS3Uri": "s3://sagemaker-scripts/lifecycle", "OnCreate": "on_create.sh"}


def template() -> Template:
    """Return the monitoring stack of an environment without file systems, which needs no other."""
    return watched(
        (section("storage"), "storage: {lustre: null}\n"),
        ("dashboard: true", "dashboard: false"),
        ("    nat_gib_per_hour: 500\n", ""),
        ("    file_system_throughput_percent: 90\n", ""),
        (_metrics(), ""),
    ).templates["monitoring"]


def _metrics() -> str:
    text = section("monitoring")
    return text[text.index("  prometheus:") :].rstrip("\n") + "\n"


@pytest.fixture(scope="module")
def queues(stacks: Stacks, clients: Clients) -> Iterator[Mapping[str, str]]:
    """The addresses of a queue for each severity, beside the subscribers of the environment."""
    made = stacks.deploy("watched-monitoring", template()["Resources"])
    assert made.status == "CREATE_COMPLETE", made.reasons
    sqs, sns, found = clients.service("sqs"), clients.service("sns"), {}
    for severity, logical_id in topics(template()).items():
        found[severity] = sqs.create_queue(QueueName=severity)["QueueUrl"]
        sns.subscribe(
            TopicArn=made.ids[logical_id],
            Protocol="sqs",
            Endpoint=f"arn:aws:sqs:{clients.region}:{clients.account}:{severity}",
        )
    yield found
    assert stacks.delete("watched-monitoring").status == "DELETE_COMPLETE"


@pytest.fixture(scope="module")
def network(stacks: Stacks) -> Mapping[str, Any]:
    everything = {"IpProtocol": "-1", "SourceSecurityGroupId": ref("Group")}
    member = {"GroupId": ref("Group"), "IpProtocol": "-1"}
    resources = {
        "Vpc": vpc(),
        "Subnet": subnet("10.0.0.0/24"),
        "Group": group(),
        "In": {
            "Type": "AWS::EC2::SecurityGroupIngress",
            "Properties": {**everything, **member},
        },
        "Out": {
            "Type": "AWS::EC2::SecurityGroupEgress",
            "Properties": {**member, "DestinationSecurityGroupId": ref("Group")},
        },
    }
    made = stacks.deploy("network", resources)
    assert made.status == "CREATE_COMPLETE", made.reasons
    return {"SecurityGroupIds": [made.ids["Group"]], "Subnets": [made.ids["Subnet"]]}


def messages(clients: Clients, queue: str, number: int) -> list[list[str]]:
    """Wait for so many messages, and return the lines of each, oldest first."""
    sqs = clients.service("sqs")
    found: list[list[str]] = []
    while len(found) < number:
        for message in sqs.receive_message(QueueUrl=queue).get("Messages", []):
            text = json.loads(message["Body"])["Message"]
            found.append([json.loads(line) for line in text.splitlines()])
            sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
    return found


def waiting(clients: Clients, queue: str) -> int:
    attributes = clients.service("sqs").get_queue_attributes(
        QueueUrl=queue, AttributeNames=["ApproximateNumberOfMessages"]
    )
    return int(attributes["Attributes"]["ApproximateNumberOfMessages"])


@contextmanager
def cluster(clients: Clients, network: Mapping[str, Any], name: str) -> Iterator[Any]:
    workers = {
        "InstanceGroupName": "workers",
        "InstanceType": "ml.c5.large",
        "InstanceCount": 1,
        "ExecutionRole": ROLE,
        "LifeCycleConfig": SCRIPTS,
    }
    sagemaker = clients.service("sagemaker")
    sagemaker.create_cluster(ClusterName=name, InstanceGroups=[workers], VpcConfig=network)
    while sagemaker.describe_cluster(ClusterName=name)["ClusterStatus"] != "InService":
        pass
    yield sagemaker.describe_cluster(ClusterName=name)
    sagemaker.delete_cluster(ClusterName=name)
    while name in [each["ClusterName"] for each in sagemaker.list_clusters()["ClusterSummaries"]]:
        pass


def test_a_cluster_that_comes_and_goes_is_told_of(
    clients: Clients, queues: Mapping[str, str], network: Mapping[str, Any]
) -> None:
    with cluster(clients, network, "watched"):
        creating, in_service = messages(clients, queues["info"], 2)
    (deleting,) = messages(clients, queues["warning"], 1)

    assert creating[0] == "HyperPod cluster watched: cluster is Creating"
    assert in_service[0] == "HyperPod cluster watched: cluster is InService"
    assert in_service[1].startswith(f"Where: account {ACCOUNT}, us-west-2, at 2")
    assert deleting[0] == "HyperPod cluster watched: cluster is Deleting"
    assert deleting[-1].startswith("What to do: ")
    assert waiting(clients, queues["critical"]) == 0


def test_another_cluster_is_none_of_its_business(
    clients: Clients, queues: Mapping[str, str], network: Mapping[str, Any]
) -> None:
    with cluster(clients, network, "other"):
        pass

    assert [waiting(clients, queue) for queue in queues.values()] == [0, 0, 0]


def test_its_nodes_are_counted(
    clients: Clients, network: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The very file that Lambda runs, with the real SDK."""
    with cluster(clients, network, "counted") as found:
        monkeypatch.setenv("CLUSTER_ARN", found["ClusterArn"])
        monkeypatch.setenv("CLUSTER", "counted")
        monkeypatch.setenv("NAMESPACE", "slurmpod")
        counted = runpy.run_path(str(FUNCTION))["handler"]({}, None)
    metrics = clients.service("cloudwatch").list_metrics(Namespace="slurmpod")["Metrics"]

    assert counted == {
        "NodesWanted": 1,
        "NodesInService": 1,
        "NodesMissing": 0,
        "NodesFailed": 0,
    }
    assert sorted(each["MetricName"] for each in metrics) == sorted(counted)


def node() -> ClusterNode:
    return ClusterNode(
        instance_id="i-0123456789abcdef0",
        group="workers",
        instance_type="ml.c5.large",
        private_ip="10.0.0.5",
        private_dns_hostname="ip-10-0-0-5",
        launched_at=datetime.now(UTC),
    )


class Named:
    """As much of a cluster as an event needs."""

    name = "watched"
    arn = f"arn:aws:sagemaker:us-west-2:{ACCOUNT}:cluster/abcdefghijkl"
    tags: Mapping[str, str] = {}


def test_a_node_that_nobody_repairs_is_critical(
    clients: Clients, queues: Mapping[str, str]
) -> None:
    event = node_health(Named(), node(), reason="NvidiaErrorTerminate", repair="None")  # type: ignore[arg-type]
    deliver(clients, event)
    (lines,) = messages(clients, queues["critical"], 1)

    assert lines[:3] == [
        "HyperPod cluster watched: node i-0123456789abcdef0 is Unhealthy",
        "Why: NvidiaErrorTerminate",
        "HyperPod does: None",
    ]


def test_a_node_that_is_replaced_is_a_warning(clients: Clients, queues: Mapping[str, str]) -> None:
    event = node_health(Named(), node(), reason="NvidiaErrorTerminate", repair="Replace")  # type: ignore[arg-type]
    deliver(clients, event)
    (lines,) = messages(clients, queues["warning"], 1)

    assert "HyperPod does: Replace" in lines


def test_a_node_that_cannot_be_made_is_critical_and_says_where_the_reason_is(
    clients: Clients, queues: Mapping[str, str]
) -> None:
    named: Any = Named()
    event = cluster_event(named, creation_ends(named, node(), "no capacity"))
    deliver(clients, event)
    (lines,) = messages(clients, queues["critical"], 1)

    event_id = event["detail"]["EventDetails"]["EventId"]
    assert lines[0].endswith(
        "Instance creation in Cluster watched and InstanceGroup workers failed"
    )
    assert (
        f"describe-cluster-event --region us-west-2 --cluster-name watched --event-id {event_id}"
        in lines[-1]
    )


class TestWithoutPermission:
    def undelivered(self, clients: Clients) -> tuple[str, Any]:
        sqs = clients.service("sqs")
        (url,) = [each for each in sqs.list_queues()["QueueUrls"] if "EventsUndelivered" in each]
        answer = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"])
        for message in answer.get("Messages", []):
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return url, answer.get("Messages", [])

    @pytest.mark.parametrize("resource_type", ["AWS::KMS::Key", "AWS::SNS::TopicPolicy"])
    def test_an_event_is_kept_when_its_topic_or_key_is_closed_to_eventbridge(
        self,
        stacks: Stacks,
        clients: Clients,
        queues: Mapping[str, str],
        resource_type: str,
    ) -> None:
        event = node_health(Named(), node(), reason="fan", repair="None")  # type: ignore[arg-type]
        stacks.deploy("watched-monitoring", closed(resource_type))
        deliver(clients, event)
        _, kept = self.undelivered(clients)
        stacks.deploy("watched-monitoring", template()["Resources"])
        deliver(clients, event)

        assert [json.loads(message["Body"]) for message in kept] == [event]
        assert "NodeUnattended" in kept[0]["MessageAttributes"]["RULE_ARN"]["StringValue"]
        assert len(messages(clients, queues["critical"], 1)) == 1
        assert self.undelivered(clients)[1] == []


def closed(resource_type: str) -> dict[str, Resource]:
    """Return the stack with a policy that does not name EventBridge any more."""
    resources: dict[str, Resource] = json.loads(json.dumps(template()["Resources"]))
    for name in of_type({"Resources": resources}, resource_type):
        properties = resources[name]["Properties"]
        document = properties.get("KeyPolicy") or properties["PolicyDocument"]
        document["Statement"] = [
            each
            for each in document["Statement"]
            if each.get("Sid") not in ("EncryptEvents", "PublishEvents")
        ]
    return resources


class Receiver(BaseHTTPRequestHandler):
    """Keeps what it is sent."""

    received: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.received.append(json.loads(body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Write nothing."""


def test_messages_go_to_web_addresses_of_this_computer_only(
    stacks: Stacks, clients: Clients
) -> None:
    """The environment's own subscriber is one on the internet: it gets none, and is in no way."""
    sns = clients.service("sns")
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    topic = sns.create_topic(Name="web")["TopicArn"]
    for endpoint in ("https://alerts.example.com/x", f"http://127.0.0.1:{server.server_port}/"):
        sns.subscribe(TopicArn=topic, Protocol=endpoint.split(":")[0], Endpoint=endpoint)
    sns.publish(TopicArn=topic, Message="hello")
    server.shutdown()
    sns.delete_topic(TopicArn=topic)

    assert [each["Message"] for each in Receiver.received] == ["hello"]
