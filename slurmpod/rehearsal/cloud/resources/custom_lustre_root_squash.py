"""Custom::LustreRootSquash: the call behind `stacks.parts.lustre_root_squash`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmpod.rehearsal.cloud.resources.custom_sdk_call import SdkCall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.resources.provider import ResourceRequest


class LustreRootSquash(SdkCall):
    """Whom root of a node becomes on a file system: a stack that goes opens no files to root."""

    type = "Custom::LustreRootSquash"

    def make(self, request: ResourceRequest, call: Mapping[str, Any]) -> None:
        """Change the file system."""
        request.aws.fsx.update_file_system(**call["parameters"])
