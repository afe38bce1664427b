"""Colours of a terminal."""

from __future__ import annotations

import os
from typing import TextIO

RED, YELLOW, BOLD, DIM = "31", "33", "1", "2"


def paint(text: str, style: str, stream: TextIO) -> str:
    """Colour `text` where `stream` is a terminal that shows colours (https://no-color.org)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty()
    return text if plain else f"\x1b[{style}m{text}\x1b[0m"
