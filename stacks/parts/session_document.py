"""The session document: the user as whom people work on a node, and the record of their work."""

from __future__ import annotations

from typing import Any

from aws_cdk import aws_ssm
from constructs import Construct

from slurmpod.environment.access import Sessions
from slurmpod.resolve import SessionNames
from slurmpod.resolve.sessions import SESSION_PREFIX

FROM_TAG = "${tag}"
"""How an environment says that the tag SSMSessionRunAs of the caller names the user."""

SHELL_PROFILE = 'export HOME="$(getent passwd "$(id -u)" | cut -d: -f6)"; cd; exec bash --login'
"""A login shell at home. The agent starts a bare `sh` and takes /home/<user> for the home of
everybody, wherever it is."""


class SessionDocument(Construct):
    """A document of type Session, schema 1.0; its newest version is the one that counts.

    Source: Systems Manager user guide, "Session document schema".
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        names: SessionNames,
        sessions: Sessions,
        key_arn: str,
    ) -> None:
        super().__init__(scope, id_)
        document = aws_ssm.CfnDocument(
            self,
            "Document",
            name=names.document,
            document_type="Session",
            document_format="JSON",
            update_method="NewVersion",
            content={
                "schemaVersion": "1.0",
                "description": "Sessions on the nodes of a HyperPod cluster",
                "sessionType": "Standard_Stream",
                "inputs": {
                    "kmsKeyId": key_arn,
                    **_record(names),
                    **_run_as(sessions),
                    **_limits(sessions),
                    "shellProfile": {"linux": SHELL_PROFILE},
                },
            },
        )
        self.name = document.ref


def _record(names: SessionNames) -> dict[str, Any]:
    """Name the one place for records; nothing is recorded where it would not be encrypted."""
    return {
        "cloudWatchLogGroupName": names.log_group or "",
        "cloudWatchEncryptionEnabled": True,
        "cloudWatchStreamingEnabled": True,
        "s3BucketName": names.bucket or "",
        "s3KeyPrefix": SESSION_PREFIX.rstrip("/") if names.bucket else "",
        "s3EncryptionEnabled": True,
    }


def _run_as(sessions: Sessions) -> dict[str, Any]:
    """Name the user of sessions; without one the tag of whoever opens it has to."""
    return {
        "runAsEnabled": True,
        "runAsDefaultUser": "" if sessions.run_as == FROM_TAG else sessions.run_as,
    }


def _limits(sessions: Sessions) -> dict[str, str]:
    longest = sessions.max_duration_minutes
    return {
        "idleSessionTimeout": str(sessions.idle_timeout_minutes),
        "maxSessionDuration": str(longest) if longest else "",
    }
