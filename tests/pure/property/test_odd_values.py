"""Odd texts that the rules pass arrive as they are: on nodes, in shell scripts, in `expand`."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Mapping
from configparser import RawConfigParser
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import yaml
from hypothesis import HealthCheck, given, settings

from slurmpod.bundle import render_bundle
from slurmpod.bundle.provisioning import provisioning_values
from slurmpod.bundle.settings import settings_of
from slurmpod.cli.main import run
from slurmpod.problems import ExitCode
from slurmpod_lifecycle import slurm
from slurmpod_lifecycle.dataclass_json import from_json, to_json
from slurmpod_lifecycle.directory import sssd_conf
from slurmpod_lifecycle.settings import Access, NodeOptions, SlurmSettings
from slurmpod_lifecycle.slurm_files import limits_program, slurmpod_conf
from slurmpod_lifecycle.steps.logins import KEYS, key_files, sudoers
from slurmpod_lifecycle.steps.users import read_known
from tests.pure.property.environments import (
    ODD_TEXTS,
    odd_environments,
    resolved_from,
    sound_environments,
)
from tests.search_depth import cases

SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)

PARAMETER = re.compile(r'([A-Za-z]+)=("([^"\n]*)"|[^\s"#]+)', re.ASCII)
"""One parameter in slurm.conf, as Slurm reads it: a value is quoted, or has no blank."""

HOOK = re.compile(r"hooks/(controller|login|worker)-(before|after)\.sh")
"""Where a script of the user's lies in the bundle, whatever it is called beside the environment."""

RECORDER = "record() { printf '%s\\0' \"$@\"; }\n"
"""A shell function in place of scontrol that shows its arguments."""


@settings(max_examples=cases(usual=40, deep=500), suppress_health_check=SLOW)
@given(odd_environments() | sound_environments(ODD_TEXTS))
def test_texts_reach_nodes_as_they_are(data: dict[str, Any]) -> None:
    resolved = resolved_from(data)
    bundle = render_bundle(resolved)
    if bundle is None or resolved.lifecycle.own_scripts:
        return
    rendered = json.loads(bundle.files["settings.json"])
    assert rendered == to_json(settings_of(resolved))
    check_slurm_files(from_json(SlurmSettings, rendered["slurm"]))
    check_people(from_json(Access, rendered["access"]))
    check_node_options(from_json(NodeOptions, rendered["node"]), bundle.files)
    if "provisioning_parameters.json" in bundle.files:
        parameters = json.loads(bundle.files["provisioning_parameters.json"])
        wanted = plain(provisioning_values(resolved))
        for key in ("controller_group", "login_group", "worker_groups", "slurm_configurations"):
            assert parameters.get(key) == wanted[key]


def check_slurm_files(wanted: SlurmSettings) -> None:
    """Read what nodes write, as Slurm and a shell do."""
    _, *lines = slurmpod_conf(wanted).removesuffix("\n").split("\n")
    read = [PARAMETER.fullmatch(line) for line in lines]
    found = {match[1]: match[3] or match[2] for match in read if match}
    found.pop("SlurmctldPrimaryOnProg", None)
    assert found == wanted.configuration
    assert all(read)

    program = limits_program(wanted.partitions)
    script = RECORDER + program.replace(f"{slurm.COMMANDS}/scontrol", "record")
    printed = subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout
    arguments = [
        ["update", f"PartitionName={name}", *(f"{key}={given[key]}" for key in sorted(given))]
        for name, given in wanted.partitions.items()
    ]
    assert printed.decode().split("\0")[:-1] == [word for words in arguments for word in words]


def check_node_options(options: NodeOptions, files: Mapping[str, bytes]) -> None:
    """Hold that nothing that nodes run or fetch takes its name from a text of the user's."""
    named = [path for hooks in options.hooks.values() for path in hooks.values()]
    assert all(HOOK.fullmatch(path) and files[path].startswith(b"#!") for path in named)
    for artefact in options.artefacts:
        place = urlsplit(artefact.url)
        assert (place.scheme, place.query, place.fragment) == ("https", "", "")
        assert artefact.mirror.endswith(f"/{artefact.sha256}/{place.path.rpartition('/')[2]}")
        for word in (artefact.url, artefact.mirror):
            assert shlex.split(word) == [word]
    if options.scratch_path:
        assert shlex.split(options.scratch_path) == [options.scratch_path]


def check_people(access: Access) -> None:
    """Read what nodes write about people, as sshd, sudo, useradd and SSSD do."""
    for user in access.users:
        text = key_files(access).get(f"{KEYS}/{user.name}", "")
        assert text.split("\n") == [*user.ssh_keys, ""]
        passwd = f"{user.name}:x:{user.uid}:5:{user.full_name}:{user.home}:/bin/bash\n"
        assert read_known(passwd, "", "").users[user.name].full_name == user.full_name
    admins = [user.name for user in access.users if user.admin]
    assert sudoers(access).splitlines()[1:] == [f"{name} ALL=(ALL) NOPASSWD:ALL" for name in admins]
    directory = access.directory
    if directory is None:
        return
    parser = RawConfigParser(delimiters=("=",), comment_prefixes=("#",), strict=True)
    parser.read_string(sssd_conf(access))
    domain = parser["domain/directory"]
    assert parser.sections() == ["sssd", "domain/directory"]
    assert domain["ldap_search_base"] == directory.base_dn.strip()
    assert domain.get("ldap_default_bind_dn", "") == (directory.bind_dn or "").strip()
    groups = domain.get("simple_allow_groups", "").split(",")
    assert [group.strip() for group in groups] == [
        group.strip() for group in directory.allowed_groups or ("",)
    ]


@settings(max_examples=cases(usual=20, deep=200), suppress_health_check=SLOW)
@given(odd_environments() | sound_environments(ODD_TEXTS))
def test_expand_shows_them_as_they_are(data: dict[str, Any]) -> None:
    data["lifecycle"] = {**data.get("lifecycle", {}), "scripts": None}
    with TemporaryDirectory() as folder:
        file = Path(folder) / "odd.yaml"
        file.write_text(json.dumps(data))
        status, as_json = printed_by("expand", str(file), "--json")
        _, as_yaml = printed_by("expand", str(file))
        if status == ExitCode.INVALID:  # without its own scripts it may not be sound
            return
    assert status == ExitCode.OK
    shown = json.loads(as_json)
    del shown["origins"]
    assert yaml.safe_load(as_yaml) == shown
    wanted = plain(resolved_from(data).environment.model_dump(mode="json"))
    assert shown["environment"] == wanted


def printed_by(*command: str) -> tuple[int, str]:
    with redirect_stdout(StringIO()) as output, redirect_stderr(StringIO()):
        return run(list(command)), output.getvalue()


def plain(values: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(values))
