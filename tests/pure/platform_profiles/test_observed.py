"""How a live controller's files differ from a profile, and what of that becomes a profile."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml

from slurmpod.platform_profiles.difference import Difference
from slurmpod.platform_profiles.loading import load
from slurmpod.platform_profiles.observed import as_profile
from slurmpod.platform_profiles.slurm_differences import slurm_differences
from slurmpod.rehearsal.hyperpod.slurm_conf import slurm_files
from tests.pure.hyperpod.test_slurm_conf import LAYOUT, LOGIN

JULY = "ami-2026-07"
CONF = load([JULY]).profile.slurm_conf
OURS = {Path(path).name: content.decode() for path, content in slurm_files(LAYOUT, CONF).items()}


def differences(files: Mapping[str, str], names: Collection[str] = ()) -> list[Difference]:
    """Return how a controller's files differ from a profile, the worst first."""
    return sorted(slurm_differences(files, CONF, names), key=lambda each: each.rank)


def found(*changes: tuple[str, str], **files: str) -> list[tuple[str, Any, Any]]:
    live = dict(OURS)
    for old, new in changes:
        assert old in live["slurm.conf"]
        live["slurm.conf"] = live["slurm.conf"].replace(old, new)
    live |= {f"{name}.conf": text for name, text in files.items()}
    return [(each.place[-1], each.profile, each.live) for each in differences(live, [LOGIN.name])]


def test_what_the_profile_has_rendered_does_not_differ() -> None:
    assert found() == []


def test_what_some_controllers_have_is_no_difference_there() -> None:
    assert found(("ClusterName=", "GresTypes=gpu\nClusterName=")) == []
    assert found(("ClusterName=", "GresTypes=nic\nClusterName=")) == [("GresTypes", None, "nic")]


def test_what_people_add_is_not_hyperpods() -> None:
    more = "include accounting.conf\ninclude slurmpod.conf\n# a comment=1\nClusterName="
    assert found(("ClusterName=", more)) == []


def test_the_worst_comes_first() -> None:
    assert found(
        ("MpiDefault=none\n", ""),
        ("TaskPlugin=task/none", "TaskPlugin=task/cgroup # changed"),
        ("OverSubscribe=EXCLUSIVE", "OverSubscribe=NO"),
        ("TreeWidth=65533\n", ""),
    ) == [
        ("TaskPlugin", "task/none", "task/cgroup"),
        ("OverSubscribe", "EXCLUSIVE", "NO"),
        ("MpiDefault", "none", None),
        ("TreeWidth", "65533", None),
    ]


def test_a_value_with_places_is_the_same_whatever_stands_there() -> None:
    assert found(("CPUs=96", "CPUs=192")) == []
    assert found(("Gres=gpu:8", "Gres=gpu:h100:8,file=/dev/nvidia-[0-7]")) == []
    assert found(("Gres=gpu:8", "Gres=nic:1")) == [("Gres", "gpu:{gpus}", "nic:1")]


def test_login_nodes_that_slurm_does_not_list_are_a_difference() -> None:
    line = next(line for line in OURS["slurm.conf"].splitlines() if LOGIN.name in line)
    assert found((f"{line}\n", "")) == [("login_nodes", True, False)]


def test_what_a_rehearsal_needs_is_last_and_stays_out_of_the_profile() -> None:
    live = {**OURS, "cgroup.conf": "CgroupPlugin=cgroup/v2\nConstrainDevices=yes\n"}
    live["slurm.conf"] = live["slurm.conf"].replace("SlurmdParameters=config_overrides\n", "")
    seen = differences(live)
    assert [each.place[-1] for each in seen[-2:]] == ["SlurmdParameters", "CgroupPlugin"]
    assert all(each.breaks == "a rehearsal keeps its own value" for each in seen[-2:])
    assert as_profile(seen, "a", "b")["slurm_conf"] == {"cgroup_conf": {"ConstrainDevices": "yes"}}


def test_a_topology_that_is_described_is_a_difference(tmp_path: Path) -> None:
    without = load(["ami-2026-01"]).profile.slurm_conf
    rendered = {
        Path(path).name: text.decode() for path, text in slurm_files(LAYOUT, without).items()
    }
    live = {**rendered, "topology.conf": "SwitchName=nn-1 Nodes=ip-10-0-0-6\n"}
    (seen,) = slurm_differences(live, without, [LOGIN.name])
    assert seen.breaks == "jobs are spread over switches differently"
    own = tmp_path / "own.yaml"
    own.write_text(yaml.safe_dump(as_profile([seen], "A cluster.", "ip-10-0-0-4")))
    learnt = load(["ami-2026-01", str(own)]).profile.slurm_conf
    assert learnt.topology_conf == ("SwitchName=switch Nodes={nodes}",)
    assert not slurm_differences(live, learnt, [LOGIN.name])


def test_a_topology_that_is_not_described_is_one_too() -> None:
    live = {name: text for name, text in OURS.items() if name != "topology.conf"}
    assert [each.live for each in differences(live, [LOGIN.name])] == [[]]


def test_a_profile_of_the_differences_makes_the_same_files(tmp_path: Path) -> None:
    live = OURS["slurm.conf"].replace("ReturnToService=1", "ReturnToService=0")
    live = live.replace("MpiDefault=none\n", "").replace(
        "MailProg=", "GresTypes=gpu,nic\nMailProg="
    )
    live = live.replace("MaxTime=INFINITE", "MaxTime=1-0").replace("EXCLUSIVE", "FORCE")
    seen = differences({**OURS, "slurm.conf": live}, [LOGIN.name])
    file = tmp_path / "dev-profile.yaml"
    file.write_text(yaml.safe_dump(as_profile(seen, "A cluster.", "ip-10-0-0-4 of dev")))
    learnt = load([JULY, str(file)])
    assert learnt.evidence["slurm_conf", "lines", "ReturnToService"].source == "ip-10-0-0-4 of dev"
    rendered = slurm_files(LAYOUT, learnt.profile.slurm_conf)
    again = {Path(path).name: content.decode() for path, content in rendered.items()}
    assert sorted(again["slurm.conf"].splitlines()) == sorted(live.splitlines())
