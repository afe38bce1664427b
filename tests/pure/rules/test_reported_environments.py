"""Environments from public reports and common mistakes, each with the sentence that is right."""

from __future__ import annotations

import pytest

from slurmpod.problems import Severity
from slurmpod.reading.read import read_as
from slurmpod.rules.check import check

ENVIRONMENT = """\
name: t
account: "999988887777"
region: us-west-2
network: {{zone: usw2-az2}}
storage:
  lustre: {{capacity_gib: 1200}}
cluster:
  groups:
    - {{name: controller, role: controller, instance_type: {controller}}}
    - {{name: login, role: login, instance_type: ml.m5.large}}
    - {{name: workers, role: worker, instance_type: {worker}, count: {count}, partition: gpu}}
{more}
"""
SOUND = {"controller": "ml.m5.xlarge", "worker": "ml.g5.12xlarge", "count": "2", "more": ""}


@pytest.mark.parametrize(
    ("changes", "place", "told"),
    [
        (
            {"more": 'identity:\n  policy_arns: ["arn:aws:iam::aws:policy/AdministratorAccess"]'},
            "identity.policy_arns[0]",
            "with AdministratorAccess every user of a node can do anything in the account",
        ),
        (
            {
                "worker": "ml.p5.48xlarge",
                "count": "8",
                "more": "budget: {monthly_usd: 200, emails: [money@corp.io]}",
            },
            "budget.monthly_usd",
            "200 USD last 0.5 hours: with all nodes on it costs 4",
        ),
        (
            {"controller": "ml.t3.medium", "worker": "ml.c6i.4xlarge", "count": "500"},
            "cluster.groups[0].instance_type",
            "slurmctld, slurmdbd and MariaDB for 500 nodes run on ml.t3.medium: 2 burstable CPUs",
        ),
    ],
)
def test_each_has_its_one_warning(changes: dict[str, str], place: str, told: str) -> None:
    text = ENVIRONMENT.format_map({**SOUND, **changes})
    (problem,) = check(read_as("e.yaml", text))
    assert (problem.severity, problem.where.path) == (Severity.WARNING, place)
    assert problem.message.startswith(told)


def test_without_the_mistake_there_is_none() -> None:
    assert not check(read_as("e.yaml", ENVIRONMENT.format_map(SOUND)))
