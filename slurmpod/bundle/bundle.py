"""The bundle: the files that HyperPod copies to every new node and runs there.

Our scripts are the same for all environments; rendered files describe this one. A user's own
scripts are included unchanged. The folder in S3 is named by a hash of the content, so a changed
bundle is a new folder, and one that is in use never changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from slurmpod.bundle import provisioning, settings
from slurmpod.bundle.provisioning import placeholders_of
from slurmpod.bundle.templates import render
from slurmpod.folders import folder
from slurmpod.resolve import Resolved
from slurmpod_lifecycle.dataclass_json import to_json

SCRIPTS = folder("lifecycle_scripts")
DIGEST_LENGTH = 12


@dataclass(frozen=True)
class Bundle:
    """The files by path, sorted, with placeholders, and their destination.

    `digest` is over paths and contents; `prefix` is the folder in the lifecycle bucket;
    `deploy_time_files` are the paths of the files with placeholders.
    """

    files: Mapping[str, bytes]
    digest: str
    prefix: str
    deploy_time_files: tuple[str, ...]


def render_bundle(resolved: Resolved) -> Bundle | None:
    """Render the bundle of a valid environment; None in managed mode."""
    if resolved.lifecycle.mode == "managed":
        return None
    own = resolved.lifecycle.own_scripts
    scripts = own.files if own else _scripts(resolved)
    rendered = {
        path: content
        for path, content in _rendered(resolved).items()
        if not own or (path == provisioning.FILE_NAME and path not in own.files)
    }
    waiting = tuple(path for path in sorted(rendered) if _waits(rendered[path], resolved))
    return bundle_of({**scripts, **rendered}, resolved.lifecycle.prefix, waiting)


def scripts_of(resolved: Resolved) -> str:
    """Return the prefix of an environment's scripts, or "no scripts" in managed mode."""
    bundle = render_bundle(resolved)
    return bundle.prefix if bundle else "no scripts"


def bundle_of(
    files: Mapping[str, bytes], folder: str, deploy_time_files: tuple[str, ...] = ()
) -> Bundle:
    """Return the bundle of files by their path, with its place below a folder of the bucket."""
    ordered = MappingProxyType(dict(sorted(files.items())))
    digest = _digest(ordered)
    return Bundle(ordered, digest, f"{folder}/{digest}", deploy_time_files)


def _scripts(resolved: Resolved) -> dict[str, bytes]:
    """Return our scripts and the user's hooks; HyperPod starts the one at the top of the mode."""
    hooks = {path: text.encode() for path, text in resolved.lifecycle.hooks.items()}
    ours = {
        path.relative_to(SCRIPTS).as_posix(): path.read_bytes()
        for path in SCRIPTS.rglob("*")
        if path.is_file()
        and (path.suffix == ".py" or path.name in {resolved.lifecycle.entry_script, SHARED_SCRIPT})
    }
    return {**ours, **hooks}


SHARED_SCRIPT = "set_up_node.sh"
"""The script that the entry scripts of all modes call."""


def _rendered(resolved: Resolved) -> dict[str, bytes]:
    files: dict[str, Mapping[str, object]] = {
        settings.FILE_NAME: {"settings": to_json(settings.settings_of(resolved))}
    }
    if resolved.lifecycle.mode == "customer":
        files[provisioning.FILE_NAME] = provisioning.provisioning_values(resolved)
    return {path: render(path, values).encode() for path, values in files.items()}


def _waits(content: bytes, resolved: Resolved) -> bool:
    """Return whether a rendered file needs values from the deployment."""
    return any(placeholder.encode() in content for placeholder in placeholders_of(resolved))


def _digest(files: Mapping[str, bytes]) -> str:
    """Hash paths and contents, each with its length, so that no two bundles look the same."""
    content = hashlib.sha256()
    for path, data in files.items():
        content.update(f"{len(path)} {path} {len(data)} ".encode())
        content.update(data)
    return content.hexdigest()[:DIGEST_LENGTH]
