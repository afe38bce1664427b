"""What the rules about a user's own scripts say, and that no content of a file stops them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slurmpod.model.beside import FilesBeside
from slurmpod.model.loader import load_text
from slurmpod.model.own_scripts import OwnScripts
from slurmpod.resolve import resolve
from slurmpod.rules.own_provisioning import PROVISIONING_FILE
from slurmpod.rules.own_scripts import OWN_SCRIPTS
from tests.sound_environment import SOUND

if TYPE_CHECKING:
    from collections.abc import Mapping

START = "#!/bin/bash\nsystemctl enable --now slurmctld\n"
PARAMETERS: dict[str, Any] = {
    "version": "1.0.0",
    "workload_manager": "slurm",
    "controller_group": "controller",
    "worker_groups": [{"instance_group_name": "workers", "partition_name": "cpu"}],
}
CLOSED = SOUND.replace("network:\n", "network:\n  closed: true\n")


def findings(files: Mapping[str, str | bytes], text: str = SOUND) -> list[tuple[str, str]]:
    """Return rule and message of all that these areas find."""
    environment = load_text("environment.yaml", f"{text}lifecycle:\n  scripts: s\n").environment
    assert environment is not None
    contents = {
        path: content.encode() if isinstance(content, str) else content
        for path, content in files.items()
    }
    resolved = resolve(environment, FilesBeside(OwnScripts("s", contents)))
    return [
        (rule.id, finding.message)
        for rule in (*OWN_SCRIPTS.rules, *PROVISIONING_FILE.rules)
        if rule.judge
        for finding in rule.judge(environment, resolved)
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
        "apt-cache search jq",
        "echo aptitude updates",
    ],
)
def test_what_stays_inside_passes(line: str) -> None:
    assert findings({"on_create.sh": f"{START}{line}\n"}, CLOSED) == []


def test_words_in_files_that_do_not_run_are_no_commands() -> None:
    said: dict[str, str | bytes] = {"README.md": "run pip install x\n", "tool": b"\0pip install x"}
    assert findings({"on_create.sh": START, **said}, CLOSED) == []


@pytest.mark.parametrize(
    "secret",
    ["-----BEGIN OPENSSH PRIVATE KEY-----", "export AWS_ACCESS_KEY_ID=AKIAABCDEFGHIJKLMNOP"],
)
def test_secrets_are_found_in_hooks_as_well(secret: str) -> None:
    text = f"{SOUND}lifecycle:\n  hooks: {{worker: {{before: join.sh, after: leave.sh}}}}\n"
    environment = load_text("environment.yaml", text).environment
    assert environment is not None
    hooks = {
        "hooks/worker-before.sh": f"#!/bin/bash\n{secret}\n",
        "hooks/worker-after.sh": "#!/bin/bash\n",
    }
    found = [
        (rule.id, finding.path, finding.message.split()[0])
        for rule in OWN_SCRIPTS.rules
        if rule.judge
        for finding in rule.judge(environment, resolve(environment, FilesBeside(hooks=hooks)))
    ]
    assert found == [("OWN-010", ("lifecycle", "hooks", "worker", "before"), "join.sh")]


@pytest.mark.parametrize(
    ("changes", "rule", "message"),
    [
        ({"workload_manager": "pbs"}, "PPF-001", 'does not say "workload_manager": "slurm"'),
        ({"version": 1}, "PPF-001", "has no text under version"),
        ({"login_group": 7}, "PPF-001", "has something else than text under login_group"),
        ({"worker_groups": None}, "PPF-001", "has no list of instance_group_name"),
        ({"worker_groups": [{"partition_name": "cpu"}]}, "PPF-001", "has no list of"),
        ({"slurm_configurations": []}, "PPF-001", "has something else than an object"),
        ({"controller_group": "x"}, "PPF-002", "controller_group is 'x', and there is no such"),
        ({"controller_group": "workers"}, "PPF-002", "'workers', which is a worker group"),
        ({"login_group": "doors"}, "PPF-002", "login_group is 'doors', and there is no such"),
        ({"worker_groups": []}, "PPF-003", "has no worker group 'workers'"),
        ({"fsx_dns_name": "fs-1"}, "PPF-005", "of no file system in the environment"),
        ({"slurm_configurations": {"a": 1}}, "PPF-007", "slurm.multi_head is not there"),
    ],
)
def test_parameters_that_say_something_else_are_found(
    changes: dict[str, Any], rule: str, message: str
) -> None:
    ((found, said),) = findings(with_parameters(**changes))
    assert found == rule
    assert message in said


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
