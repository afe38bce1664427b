"""One round of all collectors, and the file that shows what they found."""

from __future__ import annotations

import logging
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from slurmpod_exporter.collector import Collector
from slurmpod_exporter.exposition import Sample, exposition
from slurmpod_exporter.host import CollectorFailed, Host

log = logging.getLogger("slurmpod_exporter")


def collect(collectors: Iterable[Collector], host: Host) -> Iterator[Sample]:
    """Yield what the collectors find that have something to look at, and how they fared.

    One that fails, in whatever way, takes nothing from the others.
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
    """Write the samples, all at once, for everybody to read."""
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
