"""Rules for the record of the VPC's traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmpod.problems import Severity
from slurmpod.rules.named_arns import NAME_A_KEY_OF_THE_REGION, of_another_region
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.sources import ENCRYPTED_LOGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.model.environment import Environment
    from slurmpod.resolve import Resolved

FLOW_LOGS = Area("FLO", "Flow logs")

SECURITY_HUB = "https://docs.aws.amazon.com/securityhub/latest/userguide/ec2-controls.html#ec2-6"


@FLOW_LOGS.rule(
    "FLO-001",
    "The traffic of the VPC is recorded",
    why="Without a record nobody can tell later who talked to whom; AWS Security Hub asks for one "
    "in its control EC2.6.",
    fix="write 'traffic: ALL' or 'traffic: REJECT', or accept it with the reason",
    source=SECURITY_HUB,
    severity=Severity.WARNING,
)
def _traffic_is_recorded(environment: Environment, _: Resolved) -> Iterator[Finding]:
    network = environment.network
    if network.flow_logs.traffic == "NONE" and not network.existing:
        yield Finding(("network", "flow_logs", "traffic"), "the VPC's traffic is not recorded")


@FLOW_LOGS.rule(
    "FLO-002",
    "The key of the flow logs lies in the Region",
    why="CloudWatch Logs encrypts a log group with a key of its own Region only.",
    fix=NAME_A_KEY_OF_THE_REGION,
    source=ENCRYPTED_LOGS,
)
def _key_lies_in_the_region(environment: Environment, _: Resolved) -> Iterator[Finding]:
    key = environment.network.flow_logs.kms_key_arn
    yield from of_another_region(environment, key, ("network", "flow_logs", "kms_key_arn"))


@FLOW_LOGS.rule(
    "FLO-003",
    "Flow logs that are off have no settings",
    why="With 'traffic: NONE' there is no log group: what is said about it has no effect.",
    fix="remove the key",
    source="slurmpod/model/network.py",
    severity=Severity.WARNING,
)
def _no_settings_of_nothing(environment: Environment, _: Resolved) -> Iterator[Finding]:
    flow_logs = environment.network.flow_logs
    if flow_logs.traffic != "NONE":
        return
    for key in sorted(flow_logs.model_fields_set - {"traffic"}):
        yield Finding(("network", "flow_logs", key), "flow logs are off", at_key=True)
