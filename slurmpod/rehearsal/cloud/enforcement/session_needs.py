"""What Session Manager's operations need.

The reference names no resource for the nodes of a HyperPod cluster; the cluster is what is checked,
and the session's document beside it. Sources: service authorization reference, AWS Systems
Manager; Systems Manager user guide, "Additional sample IAM policies for Session Manager".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slurmpod.rehearsal.cloud.enforcement.need import Need

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.rehearsal.cloud.enforcement.calls import Call
    from slurmpod.rehearsal.cloud.enforcement.names import Names

DEFAULT_DOCUMENT = "SSM-SessionManagerRunShell"
_CLUSTER_TARGET = re.compile(r"sagemaker-cluster:(?P<cluster>[a-z0-9]+)_.+")
_TAG = "ssm:resourceTag/aws:ssmmessages"


def session_needs(call: Call, names: Names) -> Iterator[Need]:
    """Yield what StartSession, ResumeSession and TerminateSession take."""
    here = f"{names.partition}:ssm:{call.region}"
    action = f"ssm:{call.operation}"
    if call.operation == "StartSession":
        context = {"ssm:SessionDocumentAccessCheck": "true"}
        document = call.given.get("DocumentName") or DEFAULT_DOCUMENT
        owner = "" if document.startswith("AWS-") else names.account
        yield Need(action, _target(call, names), context)
        yield Need(action, f"arn:{here}:{owner}:document/{document}", {})
        return
    session = str(call.given.get("SessionId", ""))
    tags = names.sessions.tags(session)
    context = {f"{_TAG}:{key}": value for key, value in tags.items()}
    yield Need(action, f"arn:{here}:{names.account}:session/{session}", context)


def _target(call: Call, names: Names) -> str:
    """Return the ARN of the cluster whose node is meant, or that of an instance."""
    target = str(call.given.get("Target", ""))
    match = _CLUSTER_TARGET.fullmatch(target)
    here = f"{call.region}:{names.account}"
    if match:
        return f"arn:{names.partition}:sagemaker:{here}:cluster/{match['cluster']}"
    if target.startswith("mi-"):
        return f"arn:{names.partition}:ssm:{here}:managed-instance/{target}"
    return f"arn:{names.partition}:ec2:{here}:instance/{target}"
