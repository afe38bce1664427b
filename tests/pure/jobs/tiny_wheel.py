"""A wheel of a package with one module, made on the spot."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

VERSION = "1.2"


def tiny_wheel(folder: Path, name: str = "tiny", *, packages: str = "") -> Path:
    """Put the wheel into `folder`; the module says its version.

    With it comes what lies in the folder `packages` of whoever installs it.
    """
    about = f"{name}-{VERSION}.dist-info"
    tags = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = {
        f"{name}.py": f"VERSION = {VERSION!r}\n",
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {VERSION}\n",
        f"{about}/WHEEL": tags,
    }
    if packages:
        files[f"{name}.pth"] = f"{packages}\n"
    record = "".join(f"{path},{_hash(text)},{len(text)}\n" for path, text in files.items())
    files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n"
    wheel = folder / f"{name}-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return wheel


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).decode().rstrip("=")
