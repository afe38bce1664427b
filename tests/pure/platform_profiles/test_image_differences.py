"""How live nodes' images differ from a profile's, and what of that becomes a profile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from slurmpod.environment.cluster import Role
from slurmpod.platform_profiles.image_differences import ObservedNode
from slurmpod.platform_profiles.loading import load
from slurmpod.platform_profiles.observed import as_profile, differences
from slurmpod.rehearsal.hyperpod.image_disk import UNITS, files_of
from slurmpod.rehearsal.hyperpod.slurm_conf import slurm_files
from slurmpod_lifecycle.steps import accounting
from tests.pure.hyperpod.test_slurm_conf import LAYOUT

JULY = "ami-2026-07"
PROFILE = load([JULY]).profile
NAMES = {Role.CONTROLLER: "ip-10-0-0-4", Role.LOGIN: "ip-10-0-0-5", Role.WORKER: "ip-10-0-0-6"}


def node(role: Role, at_first: dict[str, Any] | None = None, **changes: Any) -> ObservedNode:
    """Return a node of that profile, but for `changes` of its facts."""
    slurm = slurm_files(LAYOUT, PROFILE.slurm_conf)
    files = files_of(PROFILE.image)
    facts = {
        "slurm_trees": [*PROFILE.image.slurm_trees],
        "versions": ["slurm 25.11.4", "Ubuntu 22.04.5 LTS"],
        "interface": "ens5",
        "users": {"ubuntu": 1000},
        "disks": [],
        "metadata_needs_token": True,
        "software": PROFILE.image.software.model_dump(),
        "units": {
            name: files[f"{UNITS}/{name}.service"].content.decode() for name in PROFILE.image.units
        },
        "agent_logs": [Path(path).name for path in PROFILE.agents.logs.model_dump().values()],
        "accounting_conf": "",
        "etc": ["accounting.conf", "plugstack.conf", "slurmdbd.conf.template"],
        "slurm_files": {Path(path).name: text.decode() for path, text in slurm.items()},
    }
    return ObservedNode(NAMES[role], role, {**facts, **changes}, at_first or {})


def found(*nodes: ObservedNode) -> list[tuple[str, Any, Any]]:
    there = {each.role for each in nodes}
    others = [node(role) for role in Role if role not in there]
    return [
        (".".join(each.place), each.profile, each.live)
        for each in differences([*nodes, *others], PROFILE)
    ]


def everywhere(**changes: Any) -> list[ObservedNode]:
    return [node(role, **changes) for role in Role]


def test_nodes_of_the_profile_do_not_differ() -> None:
    assert found() == []


def test_each_kind_of_fact_is_compared_the_worst_first() -> None:
    software = {**PROFILE.image.software.model_dump(), "docker": True, "mariadb": False}
    nodes = everywhere(
        slurm_trees=["slurm-25.11"],
        interface="enp107s0",
        users={"ubuntu": 1001},
        disks=["/opt/sagemaker"],
        metadata_needs_token=False,
        software=software,
        etc=["plugstack.conf", "slurmdbd.conf.template"],
        agent_logs=["sagemaker-cluster-agent.log", "sagemaker-host-agent.log", "autoresume.log"],
    )
    logs = PROFILE.agents.logs
    assert found(*nodes) == [
        ("image.slurm_trees", ["slurm-24.11", "slurm-25.11"], ["slurm-25.11"]),
        ("image.software.mariadb", True, False),
        ("image.software.docker", False, True),
        ("image.users.ubuntu", 1000, 1001),
        ("image.disks", [], ["/opt/sagemaker"]),
        ("image.interface", "ens5", "enp107s0"),
        ("image.metadata_needs_token", True, False),
        ("image.files./opt/slurm/etc/accounting.conf", "", None),
        ("agents.logs.autoresume", logs.autoresume, None),
        ("agents.logs.role_proxy_agent", logs.role_proxy_agent, None),
    ]


def test_accounting_conf_is_compared_as_it_was_before_scripts_filled_it() -> None:
    line = "AccountingStorageType=accounting_storage/slurmdbd\n"
    place = "image.files./opt/slurm/etc/accounting.conf"
    assert found(node(Role.CONTROLLER, accounting_conf=line)) == [(place, "", line)]
    assert found(node(Role.CONTROLLER, {"accounting_conf": ""}, accounting_conf=line)) == []


def test_accounting_conf_that_our_scripts_filled_before_it_was_noted_tells_nothing() -> None:
    ours = f"{accounting.OURS}AccountingStorageType=accounting_storage/slurmdbd\n"
    assert found(node(Role.CONTROLLER, {"accounting_conf": ours}, accounting_conf=ours)) == []


def test_units_are_compared_line_by_line() -> None:
    units = node(Role.WORKER).now["units"]
    live = units["slurmd"].replace("-/opt/slurm/etc/default", "/etc/sysconfig")
    live = live.replace("KillMode=process\n", "").replace(
        "[Install]", "LimitNOFILE=\\\n 99\n[Install]"
    )
    seen = found(*everywhere(units={"slurmd": live}))
    assert seen == [
        (
            "image.units.slurmd.Service.EnvironmentFile",
            "-/opt/slurm/etc/default/slurmd",
            "/etc/sysconfig/slurmd",
        ),
        ("image.units.slurmd.Service.KillMode", "process", None),
        ("image.units.slurmd.Service.LimitNOFILE", None, "99"),
    ]


def test_what_a_rehearsal_needs_of_a_unit_is_last_and_its_own() -> None:
    units = {
        "slurmd": node(Role.WORKER).now["units"]["slurmd"].replace("wait-until-serving", "other")
    }
    (seen,) = differences(everywhere(units=units), PROFILE)
    assert seen.breaks == "a rehearsal keeps its own value"
    assert "image" not in as_profile([seen], "a", "b")


def test_what_a_node_does_not_tell_is_no_difference() -> None:
    nodes = everywhere(interface=None, slurm_trees=None, users={"ubuntu": None}, units={})
    assert found(*nodes) == []


def test_what_scripts_have_added_is_not_of_the_image() -> None:
    before = {"software": PROFILE.image.software.model_dump()}
    after = {**before["software"], "docker": True}
    assert found(node(Role.WORKER, before, software=after)) == []
    assert found(node(Role.WORKER, software=after)) == [("image.software.docker", False, True)]


def test_a_difference_names_its_nodes_and_only_what_is_everywhere_is_written() -> None:
    nodes = [
        node(Role.CONTROLLER, disks=["/opt/sagemaker"]),
        node(Role.LOGIN, disks=["/opt/sagemaker"]),
        node(Role.WORKER, disks=["/opt/sagemaker"], interface="enp107s0"),
    ]
    disks, interface = differences(nodes, PROFILE)
    assert disks.nodes == tuple(NAMES.values())
    assert (interface.nodes, interface.everywhere) == ((NAMES[Role.WORKER],), False)
    assert as_profile([disks, interface], "a", "b")["image"] == {"disks": ["/opt/sagemaker"]}


def test_a_profile_of_the_differences_is_that_of_the_nodes(tmp_path: Path) -> None:
    units = node(Role.WORKER).now["units"]
    units = {name: text.replace("TasksMax=infinity\n", "") for name, text in units.items()}
    nodes = everywhere(slurm_trees=["slurm-25.11"], units=units, etc=["accounting.conf"])
    own = tmp_path / "own.yaml"
    own.write_text(yaml.safe_dump(as_profile(differences(nodes, PROFILE), "A cluster.", "nodes")))
    learnt = load([JULY, str(own)])
    assert differences(nodes, learnt.profile) == ()
    assert learnt.evidence["image", "slurm_trees"].source == "nodes"


def test_another_slurm_becomes_the_rehearsals_next_one() -> None:
    other = everywhere(versions=["slurm 24.05.1"])
    assert found(*other) == [("image.slurm", "26.05", "24.11")]
    profile = as_profile(differences(other, PROFILE), "other", "a test")
    assert yaml.safe_load(yaml.safe_dump(profile))["image"] == {"slurm": "24.11"}


def test_a_canary_group_tells_of_its_image_without_a_controller() -> None:
    worker = node(Role.WORKER, versions=["slurm 24.11.0"])
    assert [each.place for each in differences([worker], PROFILE)] == [("image", "slurm")]
