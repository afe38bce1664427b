"""Importing moto's services and AWS's schemas before anyone needs them: EC2 alone takes a second.

It runs while the CDK CLI starts and synthesizes, and would otherwise be part of the deployment.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from slurmpod.rehearsal.cloud.resources.schemas import create_only_paths

if TYPE_CHECKING:
    from slurmpod.rehearsal.cloud.clients import Clients


def warm_up(aws: Clients) -> None:
    """Call one operation of every service that deployments use, in the background."""
    threading.Thread(target=_call_services, args=(aws,), name="warm-up", daemon=True).start()


def _call_services(aws: Clients) -> None:
    # The server may be closed meanwhile; then there is nothing left to warm up.
    with contextlib.suppress(BotoCoreError, ClientError):
        aws.ec2.describe_vpcs()
        create_only_paths("AWS::EC2::VPC")
        aws.iam.list_roles()
        aws.s3.list_buckets()
        aws.service("ssm").describe_parameters()
        aws.service("ecr").describe_repositories()
        aws.service("lambda").list_functions()
        aws.logs.describe_log_groups()
