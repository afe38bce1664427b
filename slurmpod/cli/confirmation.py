"""Confirmation prompts before a lasting change."""

from __future__ import annotations

import argparse
import sys

from slurmpod.cli.output import say
from slurmpod.environment.environment import Environment


def is_confirmed(environment: Environment, options: argparse.Namespace, what: str) -> bool:
    """Ask whether to do `what`; a protected environment always has to be confirmed by name."""
    if environment.protected:
        say(f"{environment.name} is protected; type its name to {what}:")
        return sys.stdin.readline().strip() == environment.name
    if options.yes:
        return True
    if not sys.stdin.isatty():
        say("this is only the plan; run it again with --yes to apply it")
        return False
    say(f"{what}? [y/N]")
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def is_named(environment: Environment, options: argparse.Namespace, what: str) -> bool:
    """Ask for the environment's name before `what`; `--yes` skips this unless it is protected."""
    if options.yes and not environment.protected:
        return True
    say(f"type {environment.name} to {what}:")
    return sys.stdin.readline().strip() == environment.name
