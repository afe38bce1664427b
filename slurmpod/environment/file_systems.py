"""Common fields of FSx for Lustre and FSx for OpenZFS file systems."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from slurmpod.environment.base import IN_PLACE, Section

FileSystemId = Annotated[
    str, Field(pattern=r"^fs-[0-9a-f]{8,17}$", examples=["fs-0123456789abcdef0"])
]
MaintenanceWindow = Annotated[
    str, Field(pattern=r"^[1-7]:([01][0-9]|2[0-3]):[0-5][0-9]$", examples=["7:05:00"])
]
"""Weekday from 1 (Monday) to 7, hour and minute in UTC."""

OnDelete = Literal["retain", "delete"]
"""What happens to the data when the stack is deleted or the file system replaced."""


class StorageType(StrEnum):
    """Storage medium of a Lustre file system."""

    SSD = "SSD"
    HDD = "HDD"
    INTELLIGENT_TIERING = "INTELLIGENT_TIERING"


class Backups(Section):
    """Daily backups that FSx makes."""

    retention_days: Annotated[int, IN_PLACE, Field(ge=1, le=90)] = 7
    """Days after which a backup is deleted."""

    start_time: Annotated[
        str | None, IN_PLACE, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$", examples=["03:00"])
    ] = None
    """When the daily backup begins, in UTC; default: FSx chooses."""

    copy_tags: Annotated[bool, IN_PLACE] = False
    """Whether backups get the tags of the file system. For Lustre it is fixed at creation: a change
    replaces the file system with an empty one.
    """
