"""The EFA interfaces of this node. Other RDMA devices, which have other drivers, may be beside."""

from __future__ import annotations

from pathlib import Path

DEVICES = Path("/sys/class/infiniband")
DRIVER = "efa"


def efa_devices() -> list[str]:
    """Return the names of the devices whose driver is that of EFA."""
    devices = DEVICES.iterdir() if DEVICES.is_dir() else ()
    return sorted(device.name for device in devices if _driver(device) == DRIVER)


def _driver(device: Path) -> str:
    """Return the name of the driver that sysfs links a device to."""
    return (device / "device" / "driver").resolve().name
