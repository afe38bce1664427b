"""Stops this notebook instance after a period without use, as it is billed while it runs.

Jupyter reports the last activity of kernels and terminals. If it does not answer, the activity is
unknown and the instance keeps running.
"""

import argparse
import json
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from datetime import datetime
from pathlib import Path

NOT_FOUND = 404
IDLE = "idle"


def main() -> int:
    """Check once; return an exit code for systemd."""
    options = arguments()
    try:
        sessions = ask(options.jupyter, "sessions")
        terminals = ask(options.jupyter, "terminals")
    except (OSError, ValueError) as error:
        print(f"Jupyter does not answer, the instance goes on: {error}")
        return 1
    minutes = idle_minutes(sessions, terminals, options.started or started())
    print(f"idle for {minutes:.0f} minutes of {options.minutes}")
    if minutes < options.minutes:
        return 0
    stop = ["aws", "sagemaker", "stop-notebook-instance", "--region", options.region]
    command = [*stop, "--notebook-instance-name", options.name]
    return subprocess.run(command, check=False).returncode


def arguments() -> argparse.Namespace:
    """Return the options from the unit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=int, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--region", required=True)
    parser.add_argument("--jupyter", default="https://localhost:8443")
    parser.add_argument("--started", type=float, help="seconds since 1970, in place of the boot")
    return parser.parse_args()


def ask(jupyter: str, what: str) -> list:
    """Query Jupyter here, which has a self-signed certificate; terminals may be disabled."""
    unchecked = ssl.create_default_context()
    unchecked.check_hostname = False
    unchecked.verify_mode = ssl.CERT_NONE
    url = f"{jupyter}/api/{what}"
    try:
        with urllib.request.urlopen(url, timeout=30, context=unchecked) as answer:  # noqa: S310  # a local address
            return json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code != NOT_FOUND:
            raise
        return []


def idle_minutes(sessions: list, terminals: list, since: float) -> float:
    """Return how long the instance was idle; 0 while a kernel is busy."""
    kernels = [each["kernel"] for each in sessions if each.get("kernel")]
    if any(each["execution_state"] != IDLE for each in kernels):
        return 0
    uses = [seconds(each["last_activity"]) for each in (*kernels, *terminals)]
    return (time.time() - max([since, *uses])) / 60


def seconds(moment: str) -> float:
    """Return a time such as 2026-11-24T13:40:00.000000Z as seconds since 1970."""
    return datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()


def started() -> float:
    """Return when this machine was started."""
    return time.time() - float(Path("/proc/uptime").read_text().split()[0])


if __name__ == "__main__":
    sys.exit(main())
