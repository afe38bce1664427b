"""`make facts`, with packages that are made up: what differs is found, with what rests on it."""

from __future__ import annotations

import json
import site
from pathlib import Path
from typing import Any

import pytest

from slurmpod.environment.facts import Fact, facts
from tools.facts import __main__ as command
from tools.facts.compare import Difference, differences
from tools.facts.published import Published
from tools.facts.touched import touched

INSTALLED = Path(site.getsitepackages()[0])
VERSION = "[0-9]+[.][0-9]+"


def made_up(checked_against: str, values: str = "", left_out: str = "", form: str = "") -> Fact:
    return Fact(
        name="storage.lustre.version",
        values=tuple(values.split()),
        left_out=tuple(left_out.split()),
        form=form,
        as_of="2026-11",
        source="this test",
        checked_against=checked_against,
        table="",
    )


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Return packages with one service, two Regions, and a database engine."""
    version = {"documentation": "<p>2.8 is old. Valid values are 2.12, 2.15, and <b>2.18</b>.</p>"}
    shapes = {
        "Kind": {"type": "string", "enum": ["A", "B", "C"]},
        "Request": {"type": "structure", "members": {"Version": {"shape": "Kind", **version}}},
    }
    model = {"metadata": {}, "operations": {"MakeCluster": {}, "MakeTea": {}}, "shapes": shapes}
    regions: dict[str, Any] = {"aws-global": {}, "us-east-1": {}, "us-west-2": {}}
    engines = {
        "if": {"properties": {"Engine": {"const": "mariadb"}}},
        "then": {"properties": {"EngineVersion": {"enum": ["10.11.4", "10.11.5", "12.3.1"]}}},
    }
    schemas = "cfnlint/data/schemas"
    files: dict[str, Any] = {
        "botocore/data/fsx/2018-03-01/service-2.json": model,
        "botocore/data/partitions.json": {"partitions": [{"id": "aws", "regions": regions}]},
        f"{schemas}/providers/us-east-1.json": {"AWS::A::B": "1", "AWS::C::D": "2"},
        f"{schemas}/providers/us-west-2.json": {"AWS::A::B": "1"},
        f"{schemas}/extensions/aws_rds_dbinstance/engine_version.json": {"allOf": [engines]},
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "botocore-9.9.9.dist-info").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("of", "new", "gone"),
    [
        (made_up("enum fsx Kind", "A D", "C"), ("B",), ("D",)),
        (made_up("enum fsx Kind", "A B", "C E"), (), ("E",)),
        (
            made_up("text fsx Request.Version", "2.10 2.12 2.15", form=VERSION),
            ("2.18",),
            ("2.10",),
        ),
        (made_up("operations fsx .*Cluster"), ("MakeCluster",), ()),
        (made_up("regions", "us-east-1"), ("us-west-2",), ()),
        (made_up("regions-with AWS::C::D", "us-east-1 us-west-2"), (), ("us-west-2",)),
        (made_up("engine mariadb", "10.11 11.4"), ("12.3",), ("11.4",)),
    ],
)
def test_what_aws_has_by_now_is_told_from_what_is_known(
    packages: Path, of: Fact, new: tuple[str, ...], gone: tuple[str, ...]
) -> None:
    assert list(differences([of], Published(packages))) == [Difference(of, new, gone)]


@pytest.mark.parametrize("of", [made_up("enum fsx Kind", "A B", "C"), made_up("", "anything")])
def test_what_is_the_same_or_published_nowhere_differs_in_nothing(packages: Path, of: Fact) -> None:
    assert list(differences([of], Published(packages))) == []


def test_a_new_value_deep_in_a_request_is_found(packages: Path) -> None:
    (found,) = differences([made_up("shapes fsx Request")], Published(packages))
    assert 'Kind.enum."C"' in found.new


def test_a_region_that_loses_a_service_is_found(packages: Path) -> None:
    (found,) = differences([made_up("regions-without AWS::C::D")], Published(packages))
    assert "us-west-2" in found.new
    assert "us-east-1" not in found.new


def test_a_difference_names_all_that_rests_on_the_fact() -> None:
    region = Difference(facts()["regions.without_grafana"], ("eu-west-9",), ())
    assert "MON-008" in touched(region)["rules"]
    statuses = Difference(facts()["hyperpod.node_statuses"], ("Sleeping",), ())
    assert any("sagemaker/describe.py" in line for line in touched(statuses)["embedded AWS"])
    assert any(line.startswith("docs/fidelity.md:") for line in touched(statuses)["docs"])


def test_the_command_prints_the_difference_and_fails(
    packages: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"a": made_up("enum fsx Kind", "A B"), "b": made_up("")}
    monkeypatch.setattr(command, "facts", lambda: known)
    assert command.main(["--packages", str(packages)]) == 1
    shown = capsys.readouterr().out
    assert "storage.lustre.version (November 2026, this test)\n  new: C\n" in shown
    assert "1 facts compared with botocore 9.9.9: 1 differ" in shown
    monkeypatch.setattr(command, "facts", lambda: {"a": made_up("enum fsx Kind", "A B C")})
    assert command.main(["--packages", str(packages)]) == 0


def test_the_installed_packages_have_nothing_that_is_not_known() -> None:
    new = {d.fact.name: d.new for d in differences(facts().values(), Published(INSTALLED)) if d.new}
    assert new == {}
