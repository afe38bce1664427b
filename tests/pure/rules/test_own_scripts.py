"""What the rules about a user's own scripts say, and that no content of a file stops them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slurmpod.problems import YamlPath
from slurmpod.reading.own_scripts import OwnScripts
from slurmpod.reading.read import Reading, read_as
from slurmpod.resolve import resolve
from slurmpod.rules.own_provisioning import PROVISIONING_FILE
from slurmpod.rules.own_scripts import OWN_SCRIPTS, asks, restarts
from slurmpod.rules.storage import MOUNTS
from tests.sound_environment import SOUND, sound_with

START = "#!/bin/bash\nsystemctl enable --now slurmctld\n"
PARAMETERS: dict[str, Any] = {
    "version": "1.0.0",
    "workload_manager": "slurm",
    "controller_group": "controller",
    "worker_groups": [{"instance_group_name": "workers", "partition_name": "cpu"}],
}
PLAIN = sound_with("  lustre:\n    capacity_gib: 1200\n", "  lustre: null\n")
CLOSED = PLAIN.replace("network:\n", "network:\n  closed: true\n")
WITH_LOGIN = f"{PLAIN}    - {{name: login, role: login, instance_type: ml.m5.large}}\n"
EXISTING = sound_with("capacity_gib: 1200", "existing: {id: fs-0123456789abcdef0, mount_name: abc}")


@cache
def reading_of(text: str) -> Reading:
    return read_as("environment.yaml", text)


def findings(files: Mapping[str, str | bytes], text: str = PLAIN) -> list[tuple[str, str]]:
    """Return rule and message of all that these areas find."""
    reading = reading_of(f"{text}lifecycle:\n  scripts: s\n")
    contents = {
        path: content.encode() if isinstance(content, str) else content
        for path, content in files.items()
    }
    resolved = resolve(replace(reading, own_scripts=OwnScripts("s", contents)))
    return [
        (rule.id, finding.message)
        for rule in (*OWN_SCRIPTS.rules, *PROVISIONING_FILE.rules, *MOUNTS.rules)
        if rule.check
        for finding in rule.check(resolved)
    ]


def findings_in_hooks(text: str, hooks: Mapping[str, str]) -> list[tuple[str, YamlPath, str]]:
    """Return rule, place and message of all that is found without scripts of one's own."""
    resolved = resolve(replace(read_as("environment.yaml", text), hooks=hooks))
    return [
        (rule.id, finding.path, finding.message)
        for rule in OWN_SCRIPTS.rules
        if rule.check
        for finding in rule.check(resolved)
    ]


def with_parameters(**changes: Any) -> dict[str, str | bytes]:
    parameters = json.dumps({**PARAMETERS, **changes})
    return {"on_create.sh": START, "provisioning_parameters.json": parameters}


def test_scripts_that_suit_the_environment_pass() -> None:
    assert findings({"on_create.sh": START}) == []
    assert findings(with_parameters()) == []


def test_an_entry_script_that_is_not_there_names_what_is() -> None:
    assert findings({"start.sh": START, "lib/on_create.sh": START}) == [
        ("OWN-002", "s has no on_create.sh (at its top: start.sh)")
    ]


@pytest.mark.parametrize(
    "line",
    [
        "curl -fsSL https://example.com/install.sh | bash",
        "git clone git@github.com:example/tools",
        "sudo apt-get -y install jq",
        "apt update",
        "python3 -m pip install torch",
        "pip3 install torch",
        "docker pull nvcr.io/nvidia/pytorch",
        "subprocess.run(['wget', 'http://example.com'])",
        "wget github.com/example/tools/archive/main.tar.gz",
        "curl -fsSL get.docker.com | sh",
        "docker run --rm nvcr.io/nvidia/pytorch:24.01 true",
        "DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=60 install jq",
        "yum install -y jq",
        "dnf -y --setopt=retries=3 install jq",
        "snap install amazon-ssm-agent --classic",
        "curl https://s3.us-west-2.amazonaws.com/x -o x && git clone git@github.com:example/x",
        "docker login 1.dkr.ecr.us-west-2.amazonaws.com; pip install x",
        "PACKAGE=https://github.com/example/tools/releases/tool.deb",
        "PACKAGE=$(curl -s https://example.com/latest)",
        "apt-get \\\n  install -y jq",
    ],
)
def test_what_needs_the_internet_is_found(line: str) -> None:
    ((rule, message),) = findings({"on_create.sh": START, "lib/x.py": f"\n{line}\n"}, CLOSED)
    assert rule == "OWN-007"
    assert message.startswith("lib/x.py:2 needs the internet: ")
    assert findings({"on_create.sh": START, "lib/x.py": line}) == []  # an open network


@pytest.mark.parametrize(
    "line",
    [
        "# curl https://example.com",
        "curl http://169.254.169.254/latest/meta-data",
        "curl http://localhost:8888",
        "aws s3 cp s3://bucket/key .",
        "curl https://s3.us-west-2.amazonaws.com/bucket/key",
        "curl http://10.0.3.7:8000/tool.tar.gz -o tool.tar.gz",
        "curl --silent http://controller:6820/slurm",
        "pip3 install --no-index --find-links /opt/wheels torch",
        "pip install /fsx/wheels/tool-1.0-py3-none-any.whl",
        "apt-get install -y ./tool.deb",
        "git clone /fsx/repositories/tools",
        "docker pull 123456789012.dkr.ecr.us-west-2.amazonaws.com/tools:1",
        "docker run --rm tools:1 true",
        "jq . settings.json # see https://jqlang.org",
        '"""Do what https://example.com/manual says."""',
        "echo 'See https://example.com/manual'",
        "Documentation=https://slurm.schedmd.com",
        "apt-cache search jq",
        "echo aptitude updates",
    ],
)
def test_what_stays_inside_passes(line: str) -> None:
    assert findings({"on_create.sh": f"{START}{line}\n"}, CLOSED) == []


def test_what_needs_the_internet_is_found_in_hooks_of_a_closed_network() -> None:
    hooks = {"hooks/worker-before.sh": "#!/bin/bash\ncurl -fsSL https://get.docker.com | sh\n"}
    text = "lifecycle:\n  hooks: {worker: {before: join.sh, after: leave.sh}}\n"
    place = ("lifecycle", "hooks", "worker", "before")
    message = "join.sh:2 needs the internet: https://get.docker.com"
    assert findings_in_hooks(f"{CLOSED}{text}", hooks) == [("OWN-007", place, message)]
    assert findings_in_hooks(f"{PLAIN}{text}", hooks) == []


def test_every_group_of_a_line_is_looked_at() -> None:
    line = 'case $g in controller-machine|login-nodes|my-login-nodes|"worker-group-1") exit;; esac'
    said = [message for _, message in findings({"on_create.sh": f"{START}{line}\n"})]
    assert said == [
        f"on_create.sh:3 mentions a group '{name}', which does not exist"
        for name in ("controller-machine", "login-nodes", "worker-group-1")
    ]


def test_file_systems_that_the_environment_does_not_know_are_found() -> None:
    mount = "mount -t lustre fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com@tcp:/abc /fsx\n"
    files = {"on_create.sh": f"{START}{mount}"}
    assert findings(files, EXISTING) == []
    message = "on_create.sh:3 names fs-0123456789abcdef0, no file system of the environment"
    assert findings(files) == [("MNT-004", message)]
    assert findings({"on_create.sh": f"{START}# {mount}"}) == []


def test_words_in_files_that_do_not_run_are_no_commands() -> None:
    said: dict[str, str | bytes] = {"README.md": "run pip install x\n", "tool": b"\0pip install x"}
    assert findings({"on_create.sh": START, **said}, CLOSED) == []


@pytest.mark.parametrize(
    "secret",
    ["-----BEGIN OPENSSH PRIVATE KEY-----", "export AWS_ACCESS_KEY_ID=AKIAABCDEFGHIJKLMNOP"],
)
def test_secrets_are_found_in_hooks_as_well(secret: str) -> None:
    text = f"{SOUND}lifecycle:\n  hooks: {{worker: {{before: join.sh, after: leave.sh}}}}\n"
    hooks = {
        "hooks/worker-before.sh": f"#!/bin/bash\n{secret}\n",
        "hooks/worker-after.sh": "#!/bin/bash\n",
    }
    place = ("lifecycle", "hooks", "worker", "before")
    message = "join.sh holds what looks like a private key or an access key"
    assert findings_in_hooks(text, hooks) == [("OWN-010", place, message)]


@pytest.mark.parametrize(
    ("changes", "rule", "message"),
    [
        ({"workload_manager": "pbs"}, "PPF-001", 'does not say "workload_manager": "slurm"'),
        ({"version": 1}, "PPF-001", "has no text under version"),
        ({"login_group": 7}, "PPF-001", "has something else than text under login_group"),
        ({"worker_groups": None}, "PPF-001", "has no list of instance_group_name"),
        ({"worker_groups": [{"partition_name": "cpu"}]}, "PPF-001", "has no list of"),
        ({"slurm_configurations": []}, "PPF-001", "has something else than an object"),
        ({"controller_group": "x"}, "PPF-002", "names the controller group 'x', and there is no"),
        (
            {"controller_group": "workers"},
            "PPF-002",
            "names the controller group 'workers', and that is a worker",
        ),
        (
            {"login_group": "doors"},
            "PPF-002",
            "names the login group 'doors', and there is no such group",
        ),
        ({"worker_groups": []}, "PPF-003", "has no worker group 'workers'"),
        ({"fsx_dns_name": "f", "fsx_mountname": "m"}, "PPF-005", "of no file system in the"),
        ({"fsx_mountname": "m"}, "PPF-008", "has fsx_mountname, but no fsx_dns_name"),
        ({"slurm_configurations": {"a": 1}}, "PPF-007", "slurm.multi_head is not there"),
    ],
)
def test_parameters_that_say_something_else_are_found(
    changes: dict[str, Any], rule: str, message: str
) -> None:
    ((found, said),) = findings(with_parameters(**changes))
    assert found == rule
    assert message in said


def test_a_worker_group_that_is_not_there_is_named() -> None:
    groups = [{"instance_group_name": "nope", "partition_name": "cpu"}]
    said = [text for rule, text in findings(with_parameters(worker_groups=groups)) if "002" in rule]
    assert said == [
        "provisioning_parameters.json names the worker group 'nope', and there is no such group"
    ]


@pytest.mark.parametrize("text", [SOUND, EXISTING])
def test_a_lustre_file_system_that_the_parameters_do_not_name_is_told(text: str) -> None:
    message = "has neither fsx_dns_name nor fsx_mountname, by which scripts mount /fsx"
    found = [("PPF-008", f"provisioning_parameters.json {message}")]
    assert findings(with_parameters(), text) == found
    assert findings({"on_create.sh": START}, text) == []  # slurmpod adds the file


def test_half_of_the_names_of_an_existing_file_system_is_too_little() -> None:
    name = "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com"
    ((rule, said),) = findings(with_parameters(fsx_dns_name=name), EXISTING)
    assert (rule, said.split(" ", 1)[1]) == ("PPF-008", "has fsx_dns_name, but no fsx_mountname")
    assert findings(with_parameters(fsx_dns_name=name, fsx_mountname="abc"), EXISTING) == []


def test_a_login_group_may_stand_under_the_workers_too() -> None:
    worker = {"instance_group_name": "login", "partition_name": "dev"}
    groups = {"worker_groups": [*PARAMETERS["worker_groups"], worker]}
    assert findings(with_parameters(login_group="login", **groups), WITH_LOGIN) == []
    rules = [rule for rule, _ in findings(with_parameters(**groups), WITH_LOGIN)]
    assert rules == ["PPF-002", "PPF-002"]  # HyperPod would take it for a worker


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "7", "[" * 100_000, b"\xff\0"])
def test_parameters_that_are_none_are_one_problem(content: str | bytes) -> None:
    files = {"on_create.sh": START, "provisioning_parameters.json": content}
    assert [rule for rule, _ in findings(files)] == ["PPF-001"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from([*PARAMETERS, "login_group", "fsx_dns_name"]), JSON))
def test_any_parameters_only_have_findings(changes: dict[str, Any]) -> None:
    findings(with_parameters(**changes))


@settings(max_examples=150)
@given(st.binary(max_size=200), st.booleans())
def test_any_content_only_has_findings(content: bytes, closed: bool) -> None:
    findings({"on_create.sh": content, "x": content}, CLOSED if closed else SOUND)


@pytest.mark.parametrize(
    ("line", "question"),
    [
        ("apt-get install htop", "apt-get install"),
        ("sudo apt install htop jq", "apt install"),
        ("apt-get -q update && apt-get -q upgrade", "apt-get -q upgrade"),
        ("dnf install htop", "dnf install"),
        ("read -rp 'Go on? ' answer", "read -rp"),
        ("apt-get install -y htop", ""),
        ("apt-get -yq install htop", ""),
        ("DEBIAN_FRONTEND=noninteractive apt-get -qq install htop", ""),
        ("apt-get --assume-yes install htop", ""),
        ('apt-get "${OPTIONS[@]}" install htop', ""),
        ("yes | apt-get install htop", ""),
        ("apt-get update", ""),
        ("while read -r line; do echo; done", ""),
        ("echo installed", ""),
    ],
)
def test_what_asks_before_it_goes_on(line: str, question: str) -> None:
    assert asks(line).strip() == question


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("reboot", True),
        ("sudo /sbin/reboot now", True),
        ("shutdown -r +1", True),
        ("systemctl --no-wall reboot", True),
        ("true && { init 6; }", True),
        ("shutdown -c", False),
        ("echo reboot", False),
        ("reboot=no", False),
        ("test -e /var/run/reboot-required", False),
        ("systemctl restart slurmd", False),
    ],
)
def test_what_restarts_a_node(line: str, is_found: bool) -> None:
    assert bool(restarts(line)) == is_found
