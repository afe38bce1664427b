"""What nodes are told of their hardware, and of what is asked of them."""

from __future__ import annotations

from typing import Any

from slurmpod.bundle.node_values import node_values
from slurmpod.reading.read import read_as
from slurmpod.resolve import resolve

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


def values() -> dict[str, Any]:
    loaded = read_as("dev.yaml", YAML)
    assert loaded.environment
    return dict(node_values(resolve(loaded)))


def test_the_hardware_of_known_types_is_told() -> None:
    assert values()["hardware"]["ml.p5.48xlarge"] == {
        "architecture": "x86_64",
        "accelerator_kind": "gpu",
        "accelerators": 8,
        "efa_interfaces": 32,
        "nvme_gb": 30400,
    }


def test_a_type_that_nobody_knows_has_no_hardware() -> None:
    told = values()
    assert told["instance_types"]["news"] == ("ml.z99.large",)
    assert "ml.z99.large" not in told["hardware"]


def test_what_is_asked_is_told() -> None:
    told = values()
    assert (told["scratch_path"], told["health_checks"]) == ("/nvme", True)
    assert (told["rotate_logs"], told["ssh_needs_job"], told["containers"]) == (False, True, False)


def test_an_artefact_is_mirrored_where_nodes_may_read() -> None:
    (artefact,) = values()["artefacts"]
    mirror = "s3://sagemaker-dev-123456789012-us-west-2/lifecycle/artefacts"
    assert artefact["mirror"] == f"{mirror}/{'ab' * 32}/pyxis_1_amd64.deb"
