"""A file that a user wrote -> its text, or why it cannot be read."""

from __future__ import annotations

from pathlib import Path

BYTES_LIMIT = 1_000_000
"""Size of the largest file that is read; an environment is a page."""


class Unreadable(Exception):
    """Raised for a file that cannot be used; says why not, and what to do."""

    def __init__(self, message: str, fix: str) -> None:
        self.message = message
        self.fix = fix
        super().__init__(message)


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file.

    Raises:
        Unreadable: The file is not there, not UTF-8, or too large.
    """
    try:
        with path.open("rb") as file:
            content = file.read(BYTES_LIMIT + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise Unreadable(
            f"cannot read the file: {error.strerror}",
            "give the path of an environment file, e.g. environments/dev.yaml",
        ) from error
    except ValueError as error:  # UnicodeDecodeError, or a NUL in the path
        raise Unreadable("the file is not UTF-8 text", "save it as UTF-8") from error
    if len(content) > BYTES_LIMIT:
        raise Unreadable("the file is larger than 1 MB", "give an environment file: a page of YAML")
    return text
