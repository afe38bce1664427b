"""The options that say what becomes of a training that hangs."""

from __future__ import annotations

import argparse

from slurmpod.jobs.watcher import ACTIONS, Watching


def add_watch_options(parser: argparse.ArgumentParser) -> None:
    """Declare them."""
    parser.add_argument(
        "--watch",
        choices=ACTIONS,
        default=ACTIONS[0],
        help="what to do when the training hangs (default: tell); off: do not watch it",
    )
    parser.add_argument(
        "--hang-after",
        type=_seconds,
        metavar="SECONDS",
        help="how long it is silent at least before it hangs (default: 300)",
    )


def given_watching(options: argparse.Namespace) -> Watching:
    """Return what the user chose."""
    return Watching(options.watch, options.hang_after)


def _seconds(text: str) -> int:
    """Return a whole number of seconds."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds above 0")
    return int(text)
