"""How a live controller's files differ from a profile, and what of that becomes a profile."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.operations.observe import SLURM
from slurmpod.operations.questions import END, MARK, read_answers
from slurmpod.platform_profiles.loading import load
from slurmpod.platform_profiles.observed import as_profile, differences
from slurmpod.rehearsal.hyperpod.slurm_conf import slurm_files
from tests.unit.hyperpod.test_slurm_conf import LAYOUT, LOGIN

CONF = load().profile.slurm_conf
OURS = {Path(path).name: content.decode() for path, content in slurm_files(LAYOUT, CONF).items()}


def found(*changes: tuple[str, str], **files: str) -> list[tuple[str, str | None, str | None]]:
    live = dict(OURS)
    for old, new in changes:
        assert old in live["slurm.conf"]
        live["slurm.conf"] = live["slurm.conf"].replace(old, new)
    live |= {f"{name}.conf": text for name, text in files.items()}
    return [
        (each.place[-1], each.profile, each.live) for each in differences(live, CONF, [LOGIN.name])
    ]


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
    assert found((f"{line}\n", "")) == [("login_nodes", "true", "false")]


def test_what_a_rehearsal_needs_is_last_and_stays_out_of_the_profile() -> None:
    live = {**OURS, "cgroup.conf": "CgroupPlugin=cgroup/v2\nConstrainDevices=yes\n"}
    live["slurm.conf"] = live["slurm.conf"].replace("SlurmdParameters=config_overrides\n", "")
    seen = differences(live, CONF, ())
    assert [each.place[-1] for each in seen[-2:]] == ["SlurmdParameters", "CgroupPlugin"]
    assert all(each.breaks == "a rehearsal needs its own" for each in seen[-2:])
    assert as_profile(seen, "a", "b")["slurm_conf"] == {"cgroup_conf": {"ConstrainDevices": "yes"}}


def test_passwords_are_never_taken() -> None:
    assert found(("ClusterName=", "AccountingStoragePass=s3cret\nClusterName=")) == []


def test_a_profile_of_the_differences_makes_the_same_files(tmp_path: Path) -> None:
    live = OURS["slurm.conf"].replace("ReturnToService=2", "ReturnToService=1")
    live = live.replace("MpiDefault=none\n", "").replace(
        "MailProg=", "GresTypes=gpu,nic\nMailProg="
    )
    live = live.replace("MaxTime=INFINITE", "MaxTime=1-0").replace("EXCLUSIVE", "FORCE")
    seen = differences({**OURS, "slurm.conf": live}, CONF, [LOGIN.name])
    file = tmp_path / "dev-profile.yaml"
    file.write_text(yaml.safe_dump(as_profile(seen, "A cluster.", "ip-10-0-0-4 of dev")))
    learnt = load([str(file)])
    assert learnt.evidence["slurm_conf", "lines", "ReturnToService"].source == "ip-10-0-0-4 of dev"
    rendered = slurm_files(LAYOUT, learnt.profile.slurm_conf)
    again = {Path(path).name: content.decode() for path, content in rendered.items()}
    assert sorted(again["slurm.conf"].splitlines()) == sorted(live.splitlines())


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_a_node_prints_is_told_apart_by_its_marks(newline: str) -> None:
    lines = ["Starting session", f"{MARK} slurm.conf", "A=1", "B=2", f"{MARK} {SLURM}", "slurm 24"]
    printed = newline.join([*lines, f"{MARK} {END}", "", "Exiting session"])
    parts = read_answers(printed, "head")
    assert (parts["slurm.conf"], parts[SLURM]) == ("A=1\nB=2\n", "slurm 24\n")
    with pytest.raises(AwsUnavailable, match=r"head did not answer to the end: .*slurm 24"):
        read_answers(newline.join(lines), "head")
