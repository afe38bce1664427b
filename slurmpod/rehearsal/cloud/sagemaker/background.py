"""Work that takes as long as machines take, and what is said of it when it fails."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from slurmpod.rehearsal.cloud.platform import ClusterFailed

if TYPE_CHECKING:
    from collections.abc import Callable

_log = logging.getLogger(__name__)


class StillAtWork(ClusterFailed):
    """Nothing was begun on a node: something else is being done to it until `wait` returns."""

    def __init__(self, message: str, wait: Callable[[], None]) -> None:
        super().__init__(message)
        self.wait = wait


def in_background(name: str, work: Callable[[], None]) -> None:
    """Do something in a thread of its own, so that no API call waits for it."""
    threading.Thread(target=work, name=name, daemon=True).start()


def reason(error: Exception, while_doing: str) -> str:
    """Return what FailureMessage says; anything but ClusterFailed is a bug, and goes to the log."""
    if isinstance(error, ClusterFailed):
        return str(error)
    _log.error("internal error during the %s", while_doing, exc_info=error)
    return f"Internal error of the rehearsal: {error!r}"
