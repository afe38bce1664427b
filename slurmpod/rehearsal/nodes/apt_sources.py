"""The Debian mirror that this computer's own apt uses."""

from __future__ import annotations

import platform
import shutil
import subprocess

_INDEXES = ("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)")


def debian_mirror() -> str | None:
    """Return the URI of the Debian mirror in this computer's apt sources, if there is one."""
    release = platform.freedesktop_os_release()
    if release.get("ID") != "debian" or shutil.which("apt-get") is None:
        return None
    packages = [*_INDEXES, "Created-By: Packages"]
    listed = subprocess.run(packages, capture_output=True, text=True, check=False).stdout
    return choose_mirror(listed, release.get("VERSION_CODENAME", "sid"))


def choose_mirror(indexes: str, suite: str) -> str | None:
    """Return the URI of the first of apt's indexes from Debian itself, with component `main`.

    None if there is no such index; mmdebstrap then uses its default. Third parties also use
    Debian's suite names, but have no such component. A line of `indexes` is URI, suite, component.
    """
    for line in indexes.splitlines():
        uri, *rest = line.split()
        if uri.rstrip("/").endswith("/debian") and rest == [suite, "main"]:
            return uri
    return None
