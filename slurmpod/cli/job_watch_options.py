"""The options for trainings that hang."""

from __future__ import annotations

import argparse

from slurmpod.jobs.watcher import ACTIONS, Watching


def add_watch_options(parser: argparse.ArgumentParser) -> None:
    """Declare them."""
    parser.add_argument(
        "--watch",
        choices=ACTIONS,
        default=ACTIONS[0],
        help="action when the training hangs (default: tell); off: do not watch it",
    )
    parser.add_argument(
        "--hang-after",
        type=_seconds,
        metavar="SECONDS",
        help="seconds of silence before it counts as hung (default: 300)",
    )


def given_watching(options: argparse.Namespace) -> Watching:
    """Return the chosen options."""
    return Watching(options.watch, options.hang_after)


def _seconds(text: str) -> int:
    """Return a whole number of seconds."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number of seconds")
    return int(text)
