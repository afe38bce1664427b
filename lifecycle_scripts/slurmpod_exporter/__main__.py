"""`python3 -m slurmpod_exporter FILE`: write the node's metrics to a file in a loop."""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from slurmpod_exporter.collector import Collector, CollectorFailed, Host
from slurmpod_exporter.collectors import COLLECTORS
from slurmpod_exporter.exposition import Sample, exposition

log = logging.getLogger("slurmpod_exporter")


def collect(collectors: Iterable[Collector], host: Host) -> Iterator[Sample]:
    """Yield the samples of all collectors that apply to this node, and whether each succeeded.

    A collector that fails does not affect the others.
    """
    for collector in collectors:
        labels = {"collector": collector.name}
        started = time.monotonic()
        try:
            if not collector.is_present(host):
                continue
            samples = list(collector.collect(host))
        except CollectorFailed as error:
            log.warning("%s: %s", collector.name, error)
            samples = None
        except Exception:
            log.exception("%s: this is a mistake in the exporter", collector.name)
            samples = None
        yield from samples or ()
        yield Sample("slurmpod_collector_success", labels, float(samples is not None))
        yield Sample("slurmpod_collector_seconds", labels, time.monotonic() - started)


def publish(samples: Iterable[Sample], file: Path) -> None:
    """Write the samples atomically, readable for all users."""
    text = exposition(samples)
    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def main() -> None:
    """Run a round at a fixed interval until the program is stopped."""
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
