"""Progress of long work on the screen: one line per stage, and the current activity."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

if TYPE_CHECKING:
    from rich.status import Status


class Progress:
    """Shows stages on standard error as they begin and end, and records their times."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._status: Status | None = None
        self._title = ""
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, title: str) -> Iterator[None]:
        """Show a stage as running, then as done or failed, with its duration."""
        started = time.monotonic()
        self._title = title
        with self._console.status(title) as self._status:
            try:
                yield
            except BaseException:
                self._print("[red]✗[/red]", title, started)
                raise
        self.seconds[title] = round(time.monotonic() - started, 2)
        self._print("[green]✓[/green]", title, started)

    def now(self, detail: str) -> None:
        """Show the activity of the running stage; only on a terminal."""
        if self._status:
            self._status.update(f"{self._title} [dim]· {escape(detail)}[/dim]")

    def note(self, text: str) -> None:
        """Show a line that stays."""
        self._console.print(text, markup=False, emoji=False, soft_wrap=True)

    def _print(self, mark: str, title: str, started: float) -> None:
        self._console.print(f"{mark} {title} [dim]{time.monotonic() - started:.1f} s[/dim]")
