"""Service quotas, and the check of an environment's needs against one.

The counted resources are separate subjects, whose checks use this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from slurmpod.aws.clients import AwsClients
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.question import Question
from slurmpod.problems import YamlPath
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Finding

SAGEMAKER_QUOTAS = "https://docs.aws.amazon.com/general/latest/gr/sagemaker.html"

INCREASE = "request a higher quota in Service Quotas, which takes hours to days, or use less"
SERVICES = ("ec2", "fsx", "rds", "sagemaker", "vpc")
OF_ENVIRONMENTS = (
    "for cluster usage",
    "for endpoint usage",
    "for notebook instance usage",
    "HyperPod",
    "spot",
    "training plans",
)
"""Words in the names of the relevant ones of SageMaker's thousands of quotas."""


@dataclass(frozen=True)
class Quota:
    """A quota of the account."""

    service: str
    code: str
    name: str
    value: float


def ask_quotas(clients: AwsClients, _: Resolved | None = None) -> tuple[Quota, ...]:
    """Return the quotas that environments can reach."""
    return tuple(quota for service in SERVICES for quota in _quotas(clients, service))


def _quotas(clients: AwsClients, service: str) -> Iterator[Quota]:
    pages = clients.service_quotas.get_paginator("list_service_quotas").paginate(
        ServiceCode=service
    )
    for page in pages:
        for each in page["Quotas"]:
            name = each["QuotaName"]
            if service != "sagemaker" or any(word in name for word in OF_ENVIRONMENTS):
                yield Quota(service, each["QuotaCode"], name, each["Value"])


QUOTAS = Question(
    "quotas",
    "service quotas",
    ("servicequotas:ListServiceQuotas",),
    ("service_quotas",),
    ask_quotas,
)


def quota_of(facts: Facts, service: str, code_or_name: str) -> float | None:
    """Return the value of a quota by its code, or by its name if codes are not public."""
    values = (
        each.value
        for each in facts[QUOTAS] or ()
        if each.service == service and code_or_name in (each.code, each.name)
    )
    return next(values, None)


@dataclass(frozen=True)
class Need:
    """A need for `more` of a quota, beside what is `used`."""

    service: str
    code: str
    noun: str
    used: int
    more: int
    path: YamlPath

    def finding(self, facts: Facts) -> Iterator[Finding]:
        """Yield a finding if the need exceeds the quota."""
        quota = quota_of(facts, self.service, self.code)
        if quota is not None and self.more and self.used + self.more > quota:
            message = (
                f"the account may have {quota:g} {self.noun} ({self.code}) and has {self.used}; "
                f"this needs {self.more} more"
            )
            yield Finding(self.path, message)


QUESTIONS = (QUOTAS,)
