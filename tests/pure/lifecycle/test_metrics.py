"""Metrics of a node: two exporters and an agent, as services that are nobody's way in."""

from __future__ import annotations

import configparser
import json
import re
import shlex

import pytest

from slurmpod_lifecycle.settings import Metrics as MetricsSettings
from slurmpod_lifecycle.settings import Mode, Role
from slurmpod_lifecycle.step import NotYet, StepFailed
from slurmpod_lifecycle.steps import steps_for
from slurmpod_lifecycle.steps.metrics import AGENT_CONFIGURATION, KEPT, PORTS, Metrics
from tests.pure.lifecycle.fakes import machine_of, node

URL = "https://aps-workspaces.us-west-2.amazonaws.com/workspaces/ws-0/api/v1/remote_write"
SETTINGS = MetricsSettings(URL, 30, may_install=True)
CLOSED = MetricsSettings(URL, 30, may_install=False)
UNITS = ("slurmpod-exporter", "slurmpod-node-exporter", "slurmpod-metrics-agent")


def step_of(role: Role = Role.WORKER, settings: MetricsSettings = SETTINGS) -> Metrics:
    step = Metrics(node(role, metrics=settings))
    machine_of(step.node).open_ports = {("127.0.0.1", port) for port in PORTS.values()}
    return step


def lack_programs(step: Metrics) -> None:
    machine_of(step.node).fail("test -x /usr/bin/prometheus")


def start_command(step: Metrics, unit: str) -> list[str]:
    """Return the words of ExecStart, as systemd would split them."""
    file = configparser.ConfigParser(interpolation=None)
    file.read_string(machine_of(step.node).files[f"/etc/systemd/system/{unit}.service"])
    return [word.replace("$$", "$") for word in shlex.split(file["Service"]["ExecStart"])]


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("role", Role)
def test_every_node_sends_its_own_where_asked_for(role: Role, mode: Mode) -> None:
    def names(**settings: object) -> list[str]:
        return [step.name for step in steps_for(node(role, mode=mode, **settings))]

    assert "metrics" in names(metrics=SETTINGS)
    assert "metrics" not in names()


def test_a_node_without_metrics_is_no_failed_node() -> None:
    assert not Metrics.required


def test_services_start_now_and_at_every_boot() -> None:
    step = step_of()
    assert not step.is_done()
    assert step.apply() == f"metrics go to {URL}"
    for unit in UNITS:
        assert machine_of(step.node).did(f"env SYSTEMD_OFFLINE=1 systemctl enable --quiet {unit}")
        assert machine_of(step.node).did(f"systemctl start {unit}")
    assert step.is_done()


def test_nothing_is_installed_that_is_there() -> None:
    step = step_of()
    step.apply()
    assert not machine_of(step.node).did("env DEBIAN_FRONTEND=noninteractive")
    assert not machine_of(step.node).did("systemctl mask")


def test_what_is_missing_is_installed_and_its_own_services_never_start() -> None:
    step = step_of()
    lack_programs(step)
    step.apply()
    ran = machine_of(step.node).ran
    mask = ran.index("systemctl mask prometheus prometheus-node-exporter")
    install = next(n for n, line in enumerate(ran) if " install " in line)
    assert mask < install
    assert ran[install].endswith("prometheus prometheus-node-exporter")


def test_a_closed_network_has_no_packages_to_offer() -> None:
    step = step_of(settings=CLOSED)
    lack_programs(step)
    with pytest.raises(StepFailed, match=r"custom image \(image_id") as failed:
        step.apply()
    assert not isinstance(failed.value, NotYet)
    assert not machine_of(step.node).did("env")


def test_a_service_that_does_not_answer_says_why() -> None:
    step = step_of()
    machine_of(step.node).open_ports = set()
    machine_of(step.node).reply("journalctl", "error: bind: address already in use\n")
    with pytest.raises(NotYet, match="address already in use"):
        step.apply()
    assert not step.is_done()


def test_services_listen_on_the_node_itself_only() -> None:
    step = step_of()
    step.apply()
    for unit, port in PORTS.items():
        assert f"--web.listen-address=127.0.0.1:{port}" in start_command(step, unit)


def test_the_agent_signs_what_it_sends_and_says_whose_it_is() -> None:
    step = step_of()
    step.apply()
    configuration = json.loads(machine_of(step.node).files[AGENT_CONFIGURATION])
    (target,) = configuration["remote_write"]
    assert (target["url"], target["sigv4"]) == (URL, {"region": "us-west-2"})
    assert configuration["global"]["scrape_interval"] == "30s"
    assert configuration["global"]["external_labels"] == {
        "cluster": "dev",
        "group": "hands",
        "instance_id": "i-0",
        "node": "ip-10-0-128-20",
        "role": "worker",
    }


@pytest.mark.parametrize("role", Role)
def test_controllers_tell_of_slurm(role: Role) -> None:
    step = step_of(role)
    step.apply()
    command = start_command(step, "slurmpod-exporter")
    assert ("--controller" in command) == (role is Role.CONTROLLER)
    assert "--every=30" in command


def test_the_exporter_outlives_the_bundle_in_tmp() -> None:
    step = step_of()
    step.apply()
    files = machine_of(step.node).files
    assert "def main()" in files["/usr/local/lib/slurmpod/slurmpod_exporter/__main__.py"]
    assert "/usr/local/lib/slurmpod/slurmpod_exporter/collectors/nvidia_gpu.py" in files


def test_a_changed_setting_is_not_done_yet() -> None:
    step = step_of()
    step.apply()
    machine_of(step.node).files[AGENT_CONFIGURATION] += " "
    assert not step.is_done()


def test_no_service_goes_on_with_old_files_when_another_one_does_not_start() -> None:
    step = step_of()
    step.apply()
    machine = machine_of(step.node)
    machine.files[AGENT_CONFIGURATION] += " "
    machine.fail("systemctl start slurmpod-exporter")
    machine.ran.clear()
    with pytest.raises(NotYet):
        step.apply()
    stop = machine.ran.index(f"systemctl stop {' '.join(UNITS)}")
    assert stop < machine.ran.index("systemctl start slurmpod-exporter")


def test_services_that_are_up_are_not_stopped_by_a_second_attempt() -> None:
    step = step_of()
    step.apply()
    machine_of(step.node).ran.clear()
    step.apply()
    assert not machine_of(step.node).did("systemctl stop")


def test_systemd_reads_its_files_again_only_where_it_holds_older_ones() -> None:
    step = step_of()
    step.apply()
    assert not machine_of(step.node).did("systemctl daemon-reload")
    machine_of(step.node).reply("systemctl show --property=NeedDaemonReload", "yes\n")
    step.apply()
    assert machine_of(step.node).did("systemctl daemon-reload")


def test_only_what_is_used_is_sent() -> None:
    assert re.fullmatch(KEPT, "node_filesystem_avail_bytes")
    assert re.fullmatch(KEPT, "slurmpod_gpu_info")
    assert not re.fullmatch(KEPT, "node_memory_Active_bytes")
