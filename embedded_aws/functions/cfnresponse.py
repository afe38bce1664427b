"""The module `cfnresponse` for inline Python functions: answers CloudFormation at the event's URL.

Its names and arguments are those that the user guide prints ("cfn-response module"); every archive
of inline code gets a copy.
"""

from __future__ import annotations

import json
import urllib.request
from typing import Any

SUCCESS = "SUCCESS"
FAILED = "FAILED"


def send(
    event: dict[str, Any],
    context: Any,
    responseStatus: str,  # noqa: N803
    responseData: dict[str, Any],  # noqa: N803
    physicalResourceId: str | None = None,  # noqa: N803
    noEcho: bool = False,  # noqa: N803
    reason: str | None = None,
) -> None:
    """Report success, or the reason for the failure."""
    answer = {
        "Status": responseStatus,
        "Reason": reason or f"See the details in CloudWatch Log Stream: {context.log_stream_name}",
        "PhysicalResourceId": physicalResourceId or context.log_stream_name,
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
        "NoEcho": noEcho,
        "Data": responseData,
    }
    request = urllib.request.Request(  # noqa: S310 - a URL of CloudFormation's own
        event["ResponseURL"],
        data=json.dumps(answer).encode(),
        headers={"Content-Type": ""},
        method="PUT",
    )
    urllib.request.urlopen(request).close()  # noqa: S310
