"""Titled texts and tables of a report on screen."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console


def print_table(
    console: Console, title: str, header: tuple[str, ...], rows: Iterable[tuple[str, ...]]
) -> None:
    """Print a title, and rows in columns of the width they need."""
    table = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = (
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    )
    print_text(console, title, "\n".join(lines))


def print_text(console: Console, title: str, text: str) -> None:
    """Print a title and a text, unchanged."""
    console.print(f"\n[bold]{title}[/bold]")
    console.print(text, markup=False, emoji=False, soft_wrap=True)
