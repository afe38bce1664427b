"""Metrics of real nodes: real exporters and agents, and a real Prometheus that receives them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.httpsession import URLLib3Session

from slurmpod.metrics.dashboards import DASHBOARDS
from slurmpod.metrics.panel import Subject
from slurmpod.rehearsal.shell import Shell
from tests.nodes.conftest import Workplace, make_workplace, wait_until

ENVIRONMENT = """\
edition: 2026
name: metrics
account: "123456789012"
region: us-west-2
network:
  zone: us-west-2b
cluster:
  groups:
    - {name: controller, role: controller, instance_type: ml.m5.large}
    - {name: workers, role: worker, instance_type: ml.g5.12xlarge, count: 2, partition: gpu}
monitoring:
  notify:
    critical: {emails: [oncall@example.com]}
    warning: {emails: [platform@example.com]}
  prometheus: {scrape_seconds: 10}
  grafana: {}
"""
ON_EVERY_NODE = (Subject.EVERY_NODE, Subject.CONTROLLER)
WINDOW = "1m"
SERVICES = ("slurmpod-exporter", "slurmpod-node-exporter", "slurmpod-metrics-agent")


class Metrics:
    """A rehearsal that is still running, its nodes, and the workspace to which they send."""

    def __init__(self, workplace: Workplace, shown: dict[str, Any]) -> None:
        self._workplace = workplace
        (self._folder,) = workplace.rehearsals()
        lines = workplace.run("rehearsal", "env").stdout.splitlines()
        assigned = [line[7:].split("=", 1) for line in lines if line.startswith("export ")]
        self._variables = {name: value.strip("'") for name, value in assigned}
        self.nodes = {
            f"ip-{node['private_ip'].replace('.', '-')}": node["group"] for node in shown["nodes"]
        }
        configuration = json.loads(self.on(self.controller, "cat /etc/slurmpod/prometheus.yml"))
        self.remote_write_url = configuration["remote_write"][0]["url"]
        self.workspace_id = self.remote_write_url.split("/")[4]

    @property
    def controller(self) -> str:
        return next(name for name, group in self.nodes.items() if group == "controller")

    def on(self, node: str, command: str) -> str:
        return Shell(self._folder, node, "root").run(["sh", "-c", command])

    def dashboards(self, *options: str) -> str:
        """Return the output of `slurmpod dashboards`."""
        return self._command("dashboards", *options).stderr

    def status(self) -> Any:
        """Return the JSON of `slurmpod status`."""
        return json.loads(self._command("status", "--json").stdout)

    def _command(self, name: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Run a command of slurmpod as a user does after `rehearsal env`."""
        program = (sys.executable, "-P", "-c", "from slurmpod.cli.main import main; main()")
        result = subprocess.run(
            [*program, name, str(self.file), *options],
            env={**self._workplace.variables, **self._variables},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert result.returncode == 0, result.stderr
        return result

    @property
    def file(self) -> Path:
        return self._workplace.home.parent / "metrics.yaml"

    @property
    def prometheus(self) -> list[str]:
        """The addresses that `rehearsal list` prints."""
        (listed,) = json.loads(self._workplace.run("rehearsal", "list", "--json").stdout)
        found: list[str] = listed["prometheus"]
        assert found[0] in self._workplace.run("rehearsal", "list").stdout
        return found

    def browse(self, url: str) -> str:
        """Return the response to a browser, unsigned."""
        with urlopen(url) as answer:  # noqa: S310  # on this machine
            return str(answer.read().decode(errors="replace"))

    def url(self, query: str, workspace_id: str = "") -> str:
        path = f"/workspaces/{workspace_id or self.workspace_id}/api/v1/query"
        return f"{self._variables['AWS_ENDPOINT_URL']}{path}?{urlencode({'query': query})}"

    def query(self, query: str) -> list[dict[str, Any]]:
        """Query as Grafana does: signed for the service."""
        key = self._variables["AWS_ACCESS_KEY_ID"], self._variables["AWS_SECRET_ACCESS_KEY"]
        request = AWSRequest("GET", self.url(query))
        SigV4Auth(Credentials(*key), "aps", "us-west-2").add_auth(request)
        answer = URLLib3Session().send(request.prepare())
        assert answer.status_code == 200, answer.text
        result: list[dict[str, Any]] = json.loads(answer.text)["data"]["result"]
        return result

    def labels(self, query: str, label: str) -> set[str]:
        return {series["metric"].get(label, "") for series in self.query(query)}


@pytest.fixture(scope="module")
def metrics(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metrics]:
    folder = tmp_path_factory.mktemp("metrics")
    (folder / "metrics.yaml").write_text(ENVIRONMENT)
    workplace = make_workplace(folder)
    result = workplace.run("rehearse", str(folder / "metrics.yaml"), "--keep", "--json")
    assert result.returncode == 0, result.stderr
    yield Metrics(workplace, json.loads(result.stdout))
    assert workplace.run("rehearsal", "down").returncode == 0


def test_every_node_sends_and_says_whose_it_is(metrics: Metrics) -> None:
    wait_until(lambda: metrics.labels("up", "node") == metrics.nodes.keys(), "all nodes' metrics")
    for series in metrics.query("up"):
        of_node = series["metric"]
        assert series["value"][1] == "1"
        assert of_node["group"] == metrics.nodes[of_node["node"]]
        assert of_node["cluster"] == "metrics"
        assert of_node["instance_id"].startswith("i-")


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda dashboard: dashboard.uid)
def test_panels_that_need_no_special_hardware_show_something(
    dashboard: Any, metrics: Metrics
) -> None:
    for panel in dashboard.panels:
        if panel.subject not in ON_EVERY_NODE or panel.may_be_empty:
            continue
        for query in panel.queries.values():
            asked = query.replace("$__rate_interval", WINDOW).replace("$node", ".*")
            wait_until(lambda: bool(metrics.query(asked)), f"{panel.title}: {asked}")  # noqa: B023


def test_panels_are_drawn_without_a_grafana(metrics: Metrics, tmp_path: Path) -> None:
    assert "pictures of the last hour" in metrics.dashboards(
        "--output", str(tmp_path), "--pictures"
    )
    pictures = {path.stem: path.read_text() for path in tmp_path.glob("*.svg")}
    assert pictures.keys() == {dashboard.uid for dashboard in DASHBOARDS}
    assert all(node in pictures["slurmpod-cluster"] for node in metrics.nodes)
    assert "<polyline" in pictures["slurmpod-cluster"]


def test_dashboards_are_pushed_into_the_workspace(metrics: Metrics) -> None:
    said = metrics.dashboards("--push")
    address = said.split(" dashboards are at ")[1].strip()
    page = metrics.browse(f"{address}/")
    assert all(dashboard.panels[0].title in page for dashboard in DASHBOARDS)


def test_gpus_that_slurm_knows_are_told(metrics: Metrics) -> None:
    wait_until(
        lambda: [each["value"][1] for each in metrics.query('slurm:gpus:sum{use="all"}')] == ["8"],
        "eight GPUs",
    )


def test_who_holds_gpus_is_told_also_of_an_allocation_without_a_step(metrics: Metrics) -> None:
    """Their use is not known: there is no driver."""
    name = "'x\n     Nodes=nobody CPU_IDs=0 Mem=0 GRES=gpu:8(IDX:0-7)'"
    said = metrics.on(
        metrics.controller, f"salloc --no-shell --partition=gpu --gres=gpu:2 -J {name} 2>&1"
    )
    (job,) = re.findall(r"Granted job allocation (\d+)", said)
    held = f'slurmpod_gpu_job{{slurm_job="{job}",user="root"}}'
    wait_until(lambda: bool(metrics.query(f"{held} and on () job:gpus:count")), "the job's GPUs")
    numbers, (node,) = metrics.labels(held, "gpu"), metrics.labels(held, "node")
    assert metrics.nodes[node] == "workers"
    assert numbers in ({"0", "1"}, {"0", "1", "2", "3"})  # the partition may give whole nodes
    found = metrics.status()
    (of_job,) = found["slurm"]["gpus"]
    assert (of_job["job"], of_job["nodes"]) == (job, node)
    assert of_job["numbers"] == f"0-{len(numbers) - 1}"
    assert found["gpu_use"] == {}
    metrics.on(metrics.controller, f"scancel {job}")
    wait_until(lambda: not metrics.query(held), "the end of the job")


def test_jobs_that_wait_are_told_with_their_reason(metrics: Metrics) -> None:
    metrics.on(metrics.controller, "cd /tmp; sbatch --hold --partition=gpu --wrap=true")
    wait_until(
        lambda: "JobHeldUser" in metrics.labels("slurmpod_slurm_pending_jobs", "reason"),
        "the job that is held",
    )
    assert metrics.query('slurmpod_slurm_jobs{partition="gpu",state="pending"}')


def test_a_drained_node_begins_to_be_an_alert(metrics: Metrics) -> None:
    worker = next(name for name, group in metrics.nodes.items() if group == "workers")
    metrics.on(metrics.controller, f"scontrol update nodename={worker} state=drain reason=test")
    drained = 'ALERTS{alertname="NodeDrained",alertstate="pending"}'
    wait_until(lambda: metrics.labels(drained, "node") == {worker}, "the alert")
    metrics.on(metrics.controller, f"scontrol update nodename={worker} state=resume")
    wait_until(lambda: metrics.labels(drained, "node") == set(), "its end")


def test_only_what_is_used_is_sent(metrics: Metrics) -> None:
    sent = metrics.labels('count by (__name__) ({__name__=~"node_.+"})', "__name__")
    assert "node_memory_MemAvailable_bytes" in sent
    assert "node_memory_Active_bytes" not in sent
    assert metrics.labels("node_cpu_seconds_total", "mode") == {"idle"}


def test_nothing_of_it_is_open_to_other_nodes(metrics: Metrics) -> None:
    listening = metrics.on(metrics.controller, "ss -Hltnp | grep -E 'prometheus'")
    addresses = [line.split()[3] for line in listening.splitlines()]
    assert len(addresses) == 2
    assert all(address.startswith("127.0.0.1:") for address in addresses)


def test_services_come_back_whatever_ends_them(metrics: Metrics) -> None:
    for service in SERVICES:
        metrics.on(metrics.controller, f"systemctl kill --signal=KILL {service}")
    running = f"systemctl is-active {' '.join(SERVICES)} || true"
    wait_until(
        lambda: metrics.on(metrics.controller, running).split() == ["active"] * 3, "the services"
    )


def test_a_second_run_of_the_scripts_changes_nothing(metrics: Metrics) -> None:
    again = "cd /tmp/sagemaker-*/lifecycle/* && ./on_init_complete.sh"
    assert re.search(r"metrics: already done", metrics.on(metrics.controller, again))


def test_a_person_on_this_machine_opens_the_page_of_prometheus(metrics: Metrics) -> None:
    (address,) = metrics.prometheus
    page = metrics.browse(address)
    assert "<title>Prometheus Time Series" in page
    for path in re.findall(r'(?:src|href)="(/classic/static/[^"]+)"', page):
        assert metrics.browse(f"{address.rstrip('/')}{path}"), path
    assert "NodeDrained" in metrics.browse(f"{address}classic/alerts")


def test_who_does_not_sign_gets_nothing(metrics: Metrics) -> None:
    answer = URLLib3Session().send(AWSRequest("GET", metrics.url("up")).prepare())
    assert answer.status_code == 403
