"""What nodes are told of their hardware, and of what is asked of them."""

from __future__ import annotations

from slurmpod.bundle.settings import settings_of
from slurmpod.reading.read import read_as
from slurmpod.resolve import resolve
from slurmpod_lifecycle.settings import Hardware, NodeOptions

YAML = """
name: dev
account: "123456789012"
region: us-west-2
network: {zone: us-west-2b}
storage:
  scratch: {mount_path: /nvme}
access: {ssh_needs_job: true}
lifecycle:
  health_checks: true
  rotate_logs: false
  artefacts:
    - {name: pyxis, url: "https://example.com/a/pyxis_1_amd64.deb", sha256: $SHA256}
cluster:
  groups:
    - {name: head, role: controller, instance_type: ml.m5.large}
    - {name: gpus, role: worker, instance_type: ml.p5.48xlarge, partition: gpu}
    - {name: news, role: worker, instance_type: ml.z99.large, partition: new}
""".replace("$SHA256", "ab" * 32)


def node_options() -> NodeOptions:
    return settings_of(resolve(read_as("dev.yaml", YAML))).node


def test_the_hardware_of_known_types_is_node_options() -> None:
    assert node_options().hardware["ml.p5.48xlarge"] == Hardware("x86_64", "gpu", 8, 32, 30400)


def test_a_type_that_nobody_knows_has_no_hardware() -> None:
    assert node_options().instance_types["news"] == ("ml.z99.large",)
    assert "ml.z99.large" not in node_options().hardware


def test_what_is_asked_is_node_options() -> None:
    node = node_options()
    assert (node.scratch_path, node.health_checks) == ("/nvme", True)
    assert (node.rotate_logs, node.ssh_needs_job, node.containers) == (False, True, False)


def test_an_artefact_is_mirrored_where_nodes_may_read() -> None:
    (artefact,) = node_options().artefacts
    mirror = "s3://sagemaker-dev-123456789012-us-west-2/lifecycle/artefacts"
    assert artefact.mirror == f"{mirror}/{'ab' * 32}/pyxis_1_amd64.deb"


def test_the_groups_that_are_checked_are_those_of_workers() -> None:
    checked = YAML.replace("lifecycle:", "checks: {every_hours: 6}\nlifecycle:")
    checks = settings_of(resolve(read_as("dev.yaml", checked))).checks
    assert checks is not None
    assert (checks.every_hours, checks.groups) == (6, ("gpus", "news"))
    assert checks.pair_groups == ("gpus",), "who knows how fast the other one is"
    assert checks.all_reduce_bounds == {"gpus": 750.0}
    assert checks.ring_bounds == {"gpus": 400.0}
    alone = ("accelerators", "processor", "scratch", "shared_storage")
    assert checks.kinds == (*alone, "pairs", "rings")


def test_groups_may_be_left_out_of_the_checks() -> None:
    checked = YAML.replace("lifecycle:", "checks: {groups: [gpus]}\nlifecycle:")
    checks = settings_of(resolve(read_as("dev.yaml", checked))).checks
    assert checks is not None
    assert checks.groups == ("gpus",)
    assert settings_of(resolve(read_as("dev.yaml", YAML))).checks is None
