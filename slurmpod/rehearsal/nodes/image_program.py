"""Programs of the node image, run on this computer, which needs no packages of its own for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def image_command(image: Path, program: str, *arguments: str) -> list[str]:
    """Return the command that runs `program`, such as `promtool`, of the image with its libraries.

    Raises FileNotFoundError for an image without the program.
    """
    path = image / "usr/bin" / program
    loaders = sorted(image.glob("usr/lib*/ld-linux-*.so.*"))
    if not path.exists() or not loaders:
        raise FileNotFoundError(f"the image {image} has no {program} that runs here")
    libraries = ":".join(map(str, sorted(image.glob("usr/lib/*-linux-gnu"))))
    return [str(loaders[0]), "--library-path", libraries, str(path), *arguments]
