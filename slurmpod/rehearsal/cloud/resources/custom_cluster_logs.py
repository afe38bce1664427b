"""Custom::ClusterLogs: the calls behind `stacks.parts.cluster_logs`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from slurmpod.rehearsal.cloud.resources.custom_sdk_call import SdkCall
from slurmpod.rehearsal.cloud.resources.log_encryption import require_usable_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.rehearsal.cloud.resources.provider import ResourceRequest


class ClusterLogs(SdkCall):
    """One call of CloudWatch Logs: logs outlive the cluster."""

    type = "Custom::ClusterLogs"

    def make(self, request: ResourceRequest, call: Mapping[str, Any]) -> None:
        """Make the call, and pass over the error that it names."""
        parameters = call["parameters"]
        if "kmsKeyId" in parameters:
            require_usable_key(request.aws, parameters["kmsKeyId"], parameters["logGroupName"])
        logs = request.aws.service("logs")
        names = {api: method for method, api in logs.meta.method_to_api_mapping.items()}
        try:
            getattr(logs, names[call["action"]])(**parameters)
        except ClientError as error:
            if not re.search(call["ignoreErrorCodesMatching"], error.response["Error"]["Code"]):
                raise
