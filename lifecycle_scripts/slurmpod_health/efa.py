"""The EFA interfaces that the kernel knows, against the catalog's number.

Other RDMA devices may stand beside them: EFA's are those whose driver is `efa`.

None at all is how a group without EFA looks, whose nodes are all alike: it is only reported. That
some are missing is a fault of the node.
"""

from __future__ import annotations

from pathlib import Path

from slurmpod_health.expectations import Expectations
from slurmpod_health.finding import Finding, Verdict

NAME = "efa"
DEVICES = Path("/sys/class/infiniband")
DRIVER = "efa"


def check(expected: Expectations) -> Finding | None:
    """Count the interfaces; None for a type that has none."""
    if not expected.efa_interfaces:
        return None
    devices = DEVICES.iterdir() if DEVICES.is_dir() else ()
    found = sum(_driver(device) == DRIVER for device in devices)
    if found >= expected.efa_interfaces:
        return Finding(NAME, Verdict.GOOD, f"{found} EFA interfaces")
    verdict = Verdict.BAD if found else Verdict.REPORTED
    return Finding(NAME, verdict, f"{found} of {expected.efa_interfaces} EFA interfaces")


def _driver(device: Path) -> str:
    """Return the name of the driver that sysfs links a device to."""
    return (device / "device" / "driver").resolve().name
