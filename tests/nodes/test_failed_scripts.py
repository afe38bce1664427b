"""User scripts that fail: the user learns where, and can inspect the nodes."""

from __future__ import annotations

from pathlib import Path

from tests.nodes.conftest import Workplace

ENVIRONMENT = """\
name: failing
account: "123456789012"
region: us-west-2
network: {zone: us-west-2b}
storage: {lustre: null}
cluster:
  groups:
    - {name: head, role: controller, instance_type: ml.m5.large}
    - {name: cpu, role: worker, instance_type: ml.m5.xlarge, count: 1, partition: cpu}
lifecycle: {mode: customer, scripts: ./scripts}
suppress:
  - {rule: STO-006, reason: no file system is needed to fail}
"""
START = "#!/bin/bash\n# slurmctld is not started\nset -e\npython3 -u setup.py\n"
SETUP = """\
import subprocess

subprocess.run(["touch", "/root/was-here"], check=True)
subprocess.run(["sudo", "bash", "./tools/license.sh"], check=True)
"""
LICENSE = """\
#!/bin/bash
set -ex
curl --silent --show-error --fail https://license.example.com/key >/root/key
"""


def environment(folder: Path) -> str:
    scripts = folder / "scripts"
    (scripts / "tools").mkdir(parents=True)
    (scripts / "on_create.sh").write_text(START)
    (scripts / "setup.py").write_text(SETUP)
    (scripts / "tools" / "license.sh").write_text(LICENSE)
    file = folder / "failing.yaml"
    file.write_text(ENVIRONMENT)
    return str(file)


def test_the_line_is_named_and_the_nodes_can_be_looked_at(
    workplace: Workplace, tmp_path: Path
) -> None:
    report = tmp_path / "report.html"
    result = workplace.run("rehearse", environment(tmp_path), "--keep", "--report", str(report))
    assert result.returncode == 1
    before, _, failed = result.stderr.partition("the rehearsal failed:")
    assert "tools/license.sh:3 needs the internet: https://license.example.com/key" in before
    assert "at tools/license.sh:3: curl" in failed
    assert "Nodes of a rehearsal have no internet access" in failed
    assert "  curl: (6) Could not resolve host: license.example.com" in failed
    logs = workplace.home / "last-failure"
    assert f"The last lines of {logs}/lifecycle/ip-" in result.stderr
    assert f"all logs: {logs}" in result.stderr
    page = report.read_text()
    assert "at tools/license.sh:3: curl" in page
    assert "failing-cluster" in page

    (kept,) = workplace.rehearsals()
    (enter,) = [line for line in result.stderr.splitlines() if " rehearsal shell " in line]
    node = enter.split(" rehearsal shell ")[1].split()[0]
    looked = ("rehearsal", "shell", node, "--user", "root", "--", "ls", "/root/was-here")
    assert workplace.run(*looked).stdout == "/root/was-here\n"
    down = workplace.run("rehearsal", "down", "--id", kept.name)
    assert down.returncode == 0
    assert (workplace.rehearsals(), workplace.processes()) == ([], [])
