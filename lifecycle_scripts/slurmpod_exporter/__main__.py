"""`python3 -m slurmpod_exporter FILE`: write the node's metrics there, again and again."""

from __future__ import annotations

import argparse
import logging
import time
from pathlib import Path

from slurmpod_exporter.collectors import COLLECTORS
from slurmpod_exporter.host import Host
from slurmpod_exporter.round import collect, publish


def main() -> None:
    """Do a round every so many seconds, until somebody ends this program."""
    parser = argparse.ArgumentParser(prog="slurmpod_exporter")
    parser.add_argument("file", type=Path, help="file for the node exporter; ends with .prom")
    parser.add_argument("--every", type=int, default=60, metavar="SECONDS")
    parser.add_argument("--controller", action="store_true", help="show Slurm's state, too")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    host = Host(is_controller=options.controller)
    while True:
        began = time.monotonic()
        publish(collect(COLLECTORS, host), options.file)
        time.sleep(max(1.0, options.every - (time.monotonic() - began)))


if __name__ == "__main__":
    main()
