"""The EFA interfaces of this node, without RDMA devices that have other drivers."""

from __future__ import annotations

from pathlib import Path

DEVICES = Path("/sys/class/infiniband")
DRIVER = "efa"


def efa_devices() -> list[str]:
    """Return the names of the devices with the EFA driver."""
    devices = DEVICES.iterdir() if DEVICES.is_dir() else ()
    return sorted(device.name for device in devices if _driver(device) == DRIVER)


def _driver(device: Path) -> str:
    """Return the name of the driver that sysfs links to a device."""
    return (device / "device" / "driver").resolve().name
