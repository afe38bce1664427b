"""The lifecycle scripts of an environment as its deployment would upload them."""

from __future__ import annotations

from collections.abc import Mapping

from slurmpod.bundle import OPENZFS_DNS_NAME, lustre_placeholders, render_bundle
from slurmpod.resolve import Resolved
from tests.nodes.hyperpod_lab import OPENZFS, HyperPodLab


def deployed_bundle(
    lab: HyperPodLab, resolved: Resolved, more: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the files by path, with a lab's file systems, and `more` by placeholder."""
    bundle = render_bundle(resolved)
    assert bundle is not None
    lustre = lustre_placeholders("lustre")
    values = {
        lustre.dns_name: lab.lustre["DNSName"],
        lustre.mount_name: lab.lustre["LustreConfiguration"]["MountName"],
        OPENZFS_DNS_NAME: OPENZFS,
        **(more or {}),
    }
    files = {path: content.decode() for path, content in bundle.files.items()}
    for path in bundle.deploy_time_files:
        for placeholder, value in values.items():
            files[path] = files[path].replace(placeholder, value)
    return files
