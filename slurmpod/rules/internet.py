"""Whether a line of a script needs the internet, as far as its words tell.

A word list can only be right about what people usually write: what is found is a warning, and a
script may still get out by means that are not here.
"""

from __future__ import annotations

import re

COMMANDS = re.compile(r"&&|\|\|?|;|\$\(|`")
"""What stands between two commands of one line."""

OPTIONS = r"\s+(?:-\S+\s+(?:[^-\s]\S*\s+)?){0,20}?"
"""What may stand between a program and its verb: options, with their values."""

FETCHES = re.compile(
    rf"\b(?:(?:apt|apt-get|yum|dnf|zypper){OPTIONS}(?:install|update|upgrade|makecache)"
    rf"|snap{OPTIONS}(?:install|refresh)"
    rf"|(?:pip[0-9.]*|pipx|conda|mamba|npm|gem|cargo|go){OPTIONS}install"
    rf"|git{OPTIONS}clone"
    rf"|(?:docker|podman|apptainer|singularity){OPTIONS}pull"
    rf"|enroot{OPTIONS}import"
    r"|ansible-galaxy|add-apt-repository)(?![\w-])"
)
"""Programs that look for what they are asked for outside, wherever no one says otherwise."""

NEAR = (
    r"169\.254\.|127\.|10\.|192\.168\.|172\.(?:1[6-9]|2[0-9]|3[01])\.|localhost\b|[\[$]"
    r"|[\w-]+(?:[:/\s\"']|$)|[\w.-]+\.(?:internal|local)\b"
)
"""Hosts of the instance and of its VPC: private addresses (RFC 1918) and names without a domain."""

URL = rf"https?://(?!{NEAR})[^\s\"'`)<>]+"
HOST = (
    r"(?<![\w./@=:-])(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|ai|edu|gov|co|cloud|aws)"
    r"(?=[/:\s]|$)[^\s\"'`)<>]*"
)
"""A host outside without https://, which curl, wget and docker do not need."""

DOWNLOADS = re.compile(
    rf"\b(?:curl|wget|aria2c|git|pip[0-9.]*|(?:docker|podman){OPTIONS}(?:run|create))"
    rf"\s.{{0,400}}?(?P<found>{URL}|{HOST})"
)
VALUE = re.compile(rf"(?<!\"\")(?<!'')(?<!Documentation=)(?<=[\"'=(])(?P<found>{URL})")
"""An address that a variable or a function is given; one in a sentence or a unit file is none."""

STAYS_INSIDE = re.compile(
    r"\bamazonaws\.com\b|\s--(?:no-index|offline|pull[= ]never)\b"
    rf"|\s\.{{0,2}}/\S+\.(?:deb|rpm|whl)\b|\bclone{OPTIONS}(?:[./]|file:)"
)
"""AWS endpoints, which a closed network has, and what is told to use what is there."""

LONGEST = 5000
"""Characters of a line; one that is longer is data, and would take long to look through."""


def needs_internet(line: str) -> str | None:
    """Return the first part of a line, without comment, that needs the internet, or None."""
    found = (_needed(command) for command in COMMANDS.split(line) if len(line) <= LONGEST)
    return next((part for part in found if part), None)


def _needed(command: str) -> str | None:
    if STAYS_INSIDE.search(command):
        return None
    if fetches := FETCHES.search(command):
        return fetches.group()
    address = DOWNLOADS.search(command) or VALUE.search(command)
    return address["found"] if address else None
