"""An assembly is kept whole or not at all, and a damaged one is not there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from slurmpod.operations.deploy import kept_assemblies
from slurmpod.operations.deploy.kept_assemblies import KeptAssemblies

STACK = {
    "type": "aws:cloudformation:stack",
    "properties": {"templateFile": "dev.template.json"},
    "additionalMetadataFile": "dev.metadata.json",
}
ASSETS = {"type": "cdk:asset-manifest", "properties": {"file": "dev.assets.json"}}
MANIFEST = {"version": "55.0.0", "artifacts": {"dev": STACK, "dev.assets": ASSETS}}
SOURCES = {
    "1": {"source": {"path": "asset.1"}},
    "2": {"source": {"path": "asset.2.zip"}},
    "3": {"source": {"path": "dev.template.json"}},
}
PARTS = {
    "cdk.out": "{}",
    "manifest.json": json.dumps(MANIFEST),
    "dev.template.json": '{"Resources": {}}',
    "dev.metadata.json": "{}",
    "dev.assets.json": json.dumps({"files": SOURCES}),
    "asset.1/a/run.sh": "echo",
    "asset.1/b.txt": "",
    "asset.2.zip": "zip",
}


@pytest.fixture
def kept(tmp_path: Path) -> KeptAssemblies:
    return KeptAssemblies(tmp_path / "home" / "assemblies")


@pytest.fixture
def assembly(tmp_path: Path) -> Path:
    return written(tmp_path / "cdk.out", PARTS)


def written(folder: Path, parts: dict[str, str]) -> Path:
    for name, text in parts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def contents(folder: Path) -> dict[str, tuple[str, int]]:
    files = [each for each in folder.rglob("*") if each.is_file()]
    return {
        each.relative_to(folder).as_posix(): (each.read_text(), each.stat().st_mode)
        for each in files
    }


def test_a_copy_has_all_files_of_the_assembly_and_no_others(
    kept: KeptAssemblies, assembly: Path, tmp_path: Path
) -> None:
    (assembly / "asset.1/a/run.sh").chmod(0o755)
    expected = contents(assembly)
    written(assembly, {"synth.lock": "1", "older.template.json": "{}", "asset.9/old": ""})
    kept.keep("key", assembly)
    assert kept.copy("key", tmp_path / "copy")
    assert contents(tmp_path / "copy") == expected


def test_a_copy_replaces_what_was_there(kept: KeptAssemblies, assembly: Path) -> None:
    kept.keep("key", assembly)
    expected = contents(assembly)
    (assembly / "dev.template.json").write_text("other")
    (assembly / "asset.2.zip").unlink()
    assert kept.copy("key", assembly)
    assert contents(assembly) == expected


def test_the_manifest_is_written_last(
    kept: KeptAssemblies, assembly: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits for the templates waits for it."""
    kept.keep("key", assembly)
    names: list[str] = []
    write = Path.write_bytes

    def noted(path: Path, data: bytes) -> int:
        names.append(path.name)
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", noted)
    kept.copy("key", tmp_path / "copy")
    assert names[-1] == "manifest.json"
    assert len(names) == len(PARTS)


def test_what_was_not_kept_is_not_there(kept: KeptAssemblies, tmp_path: Path) -> None:
    assert not kept.copy("key", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut": cut,
    "empty": lambda file: file.write_bytes(b""),
    "gone": lambda file: file.unlink(),
    "longer": lambda file: file.write_bytes(file.read_bytes() + b"x"),
    "other": lambda file: file.write_bytes(b"[]"),
    "binary": lambda file: file.write_bytes(b"\xff\n{}"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("part", ["*.json", "files/*"])
def test_a_damaged_assembly_is_not_there_until_it_is_kept_again(
    kept: KeptAssemblies,
    assembly: Path,
    tmp_path: Path,
    part: str,
    damage: Callable[[Path], object],
) -> None:
    kept.keep("key", assembly)
    damage(max(kept.folder.glob(part), key=lambda each: each.stat().st_size))
    assert not kept.copy("key", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    kept.keep("key", assembly)
    assert kept.copy("key", tmp_path / "copy")
    assert contents(tmp_path / "copy") == contents(assembly)


def with_manifest(**changes: Any) -> dict[str, str]:
    return {"manifest.json": json.dumps({**MANIFEST, **changes})}


def report(conclusion: str) -> dict[str, str]:
    plugins = [{"conclusion": "success"}, {"conclusion": conclusion}]
    return {"validation-report.json": json.dumps({"pluginReports": plugins})}


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(report("failure"), id="findings"),
        pytest.param(with_manifest(missing=[{"key": "vpc"}]), id="not complete"),
        pytest.param(with_manifest(artifacts={"x": {"type": "new"}}), id="unknown kind"),
        pytest.param({"dev.assets.json": '{"dockerImages": {"1": {}}}'}, id="image"),
        pytest.param({"manifest.json": "{"}, id="cut"),
        pytest.param(
            {"dev.assets.json": '{"files": {"1": {"source": {"path": "asset.7"}}}}'}, id="missing"
        ),
    ],
)
def test_what_is_not_sound_or_not_known_is_not_kept(
    kept: KeptAssemblies, assembly: Path, tmp_path: Path, parts: dict[str, str]
) -> None:
    kept.keep("key", written(assembly, parts))
    assert not kept.copy("key", tmp_path / "copy")


def test_a_check_without_findings_is_kept_with_the_assembly(
    kept: KeptAssemblies, assembly: Path, tmp_path: Path
) -> None:
    kept.keep("key", written(assembly, report("success")))
    assert kept.copy("key", tmp_path / "copy")
    assert contents(tmp_path / "copy") == contents(assembly)


def test_a_link_in_an_asset_is_not_kept(
    kept: KeptAssemblies, assembly: Path, tmp_path: Path
) -> None:
    (assembly / "asset.1/link").symlink_to("b.txt")
    kept.keep("key", assembly)
    assert not kept.copy("key", tmp_path / "copy")


def test_the_assemblies_last_used_stay_with_all_that_they_hold(
    kept: KeptAssemblies, assembly: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_assemblies, "KEPT", 2)
    for age, name in enumerate(("first", "second")):
        kept.keep(name, written(assembly, {"dev.template.json": name}))
        os.utime(kept.folder / f"{name}.json", (age, age))
    assert kept.copy("first", tmp_path / "used")
    kept.keep("third", written(assembly, {"dev.template.json": "third"}))
    there = [name for name in ("first", "second", "third") if kept.copy(name, tmp_path / name)]
    assert there == ["first", "third"]
    held = {each.read_text() for each in (kept.folder / "files").iterdir()}
    assert held == {*PARTS.values(), "first", "third"} - {PARTS["dev.template.json"]}


def test_a_damaged_assembly_keeps_no_other_from_going(
    kept: KeptAssemblies, assembly: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_assemblies, "KEPT", 2)
    kept.keep("old", assembly)
    kept.keep("damaged", assembly)
    (kept.folder / "damaged.json").write_text("{}")
    os.utime(kept.folder / "old.json", (0, 0))
    kept.keep("new", assembly)
    assert [each.name for each in kept.folder.glob("*.json")] == ["new.json"]
    assert kept.copy("new", assembly)


def keep_and_copy(kept: KeptAssemblies, assembly: Path, number: int) -> list[bool]:
    """Keep an assembly of one's own again and again; return which copies were not half ones."""
    expected = contents(written(assembly, {**PARTS, "dev.template.json": str(number)}))
    whole = []
    for turn in range(10):
        copy = assembly.with_name(f"copy-{number}-{turn}")
        kept.keep(str(number), assembly)
        copied = kept.copy(str(number), copy)
        whole.append(contents(copy) == (expected if copied else {}))
    return whole


def test_who_keeps_at_the_same_time_takes_nothing_that_is_half(
    kept: KeptAssemblies, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They remove each other's assemblies, too, as only one stays."""
    monkeypatch.setattr(kept_assemblies, "KEPT", 1)
    with ProcessPoolExecutor(3, mp_context=get_context("fork")) as others:
        running = [
            others.submit(keep_and_copy, kept, tmp_path / f"cdk-{number}.out", number)
            for number in range(3)
        ]
        assert all(all(each.result()) for each in running)


def test_without_a_place_to_write_nothing_is_kept(assembly: Path) -> None:
    kept = KeptAssemblies(Path(os.devnull) / "assemblies")
    kept.keep("key", assembly)
    assert not kept.copy("key", assembly)
