from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slurmpod.bundle import render_bundle
from slurmpod.reading.read import Reading, read
from slurmpod.resolve import resolve
from slurmpod_lifecycle.dataclass_json import to_json
from slurmpod_lifecycle.settings import Kind, Mode, Role, load_settings
from slurmpod_lifecycle.step import NotYet, StepFailed
from tests.golden_files import ROOT

GOLDEN = sorted((ROOT / "tests" / "cases" / "golden" / "bundles").glob("*/settings.json"))


@pytest.fixture
def rendered() -> bytes:
    environment = read(ROOT / "environments" / "trn1-llama2.yaml").environment
    assert environment is not None
    bundle = render_bundle(resolve(Reading(environment)))
    assert bundle is not None
    return bundle.files["settings.json"]


def test_rendered_settings_are_read(rendered: bytes, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(rendered)
    settings = load_settings(path)
    assert settings.cluster_name == "trn1-llama2"
    assert settings.roles == {
        "controller-machine": Role.CONTROLLER,
        "login-nodes": Role.LOGIN,
        "compute-nodes": Role.WORKER,
    }
    (lustre,) = settings.file_systems
    assert (lustre.kind, lustre.mount_path, lustre.root_writes) == (Kind.LUSTRE, "/fsx", True)
    assert settings.mode is Mode.EXTENDED
    assert settings.accounting
    assert settings.step_timeout_seconds == 600


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.parent.name)
def test_what_the_tool_writes_is_read_with_all_its_fields(path: Path) -> None:
    assert to_json(load_settings(path)) == json.loads(path.read_text())


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StepFailed, match=r"settings\.json: No such file") as failure:
        load_settings(tmp_path / "settings.json")
    assert not isinstance(failure.value, NotYet)


@pytest.mark.parametrize(
    "change",
    [
        {"roles": {"g": "king"}},
        {"roles": None},
        {"mode": "managed"},
        {"file_systems": [{}]},
        {"file_systems": None},
        {"file_systems": [{"kind": "ext4"}]},
        {"s3_mounts": [{"bucket": "b"}]},
        {"database": {"endpoint": "e"}},
        {"multi_head": 2},
        {"step_timeout_seconds": "600"},
        {"accounting": None},
        {"newcomer": 1},
        {"slurm": {}},
    ],
)
def test_a_file_that_is_not_whole_is_refused(
    rendered: bytes, tmp_path: Path, change: dict[str, Any]
) -> None:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({**json.loads(rendered), **change}))
    with pytest.raises(StepFailed, match="is not valid"):
        load_settings(path)


def test_half_a_file_is_refused(rendered: bytes, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(rendered[:40])
    with pytest.raises(StepFailed, match="is not valid"):
        load_settings(path)
