"""Which rehearsal `slurmpod rehearsal` means."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slurmpod.cli import kept_rehearsals
from slurmpod.cli.kept_rehearsals import NotThere, _chosen, _shell_command
from slurmpod.rehearsal.nodes.folder import enroll, further_network
from slurmpod.rehearsal.processes import UnknownRehearsal
from slurmpod.rehearsal.state import CHOSEN


@pytest.fixture(autouse=True)
def several(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [UnknownRehearsal(Path(name), "") for name in ("dev-1a2b3c", "prod-4d5e6f")]
    monkeypatch.setattr(kept_rehearsals, "running", lambda: found)
    monkeypatch.delenv(CHOSEN, raising=False)


def test_that_of_env_counts_where_nobody_says_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOSEN, "prod-4d5e6f")
    assert _chosen(None).identifier == "prod-4d5e6f"
    assert _chosen("dev-1a2b3c").identifier == "dev-1a2b3c"


@pytest.mark.parametrize("exported", ["", "gone-000000"])
def test_one_that_is_gone_is_none(exported: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOSEN, exported)
    with pytest.raises(NotThere, match="choose one with --id: dev-1a2b3c, prod-4d5e6f"):
        _chosen(None)


def test_one_that_was_asked_for_and_is_gone_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOSEN, "dev-1a2b3c")
    with pytest.raises(NotThere, match="no rehearsal 'gone-000000' runs"):
        _chosen("gone-000000")


@pytest.mark.parametrize(
    ("node", "asked"), [("ip-10-0-0-5", "dev"), ("login", "dev"), ("twin/ip-10-0-0-5", "twin")]
)
def test_a_node_is_entered_in_the_network_of_its_cluster(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, node: str, asked: str
) -> None:
    networks = {"dev": tmp_path, "twin": further_network(tmp_path, 2)}
    for cluster, network in networks.items():
        network.mkdir(parents=True, exist_ok=True)
        enroll(network, cluster)

    def hostname(_: object, cluster: str, wanted: str) -> str:
        assert (cluster, wanted) == (asked, node.rpartition("/")[2])
        return "ip-10-0-0-5"

    def enter(*argv: Any, **_: object) -> list[str]:
        return list(map(str, argv[:2]))

    monkeypatch.setattr(kept_rehearsals, "_hostname", hostname)
    monkeypatch.setattr(kept_rehearsals, "enter_command", enter)
    rehearsal: Any = SimpleNamespace(folder=tmp_path, request=SimpleNamespace(name="dev"))
    entered = _shell_command(rehearsal, node, [], "ubuntu")
    assert entered == [str(networks[asked]), "ip-10-0-0-5"]
