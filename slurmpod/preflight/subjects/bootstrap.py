"""The CDK's bootstrap of the account."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import suppressed
from slurmpod.preflight.facts import Facts
from slurmpod.preflight.question import Question
from slurmpod.preflight.registry import PREFLIGHT
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Finding

BOOTSTRAPPING = "https://docs.aws.amazon.com/cdk/v2/guide/bootstrapping-env.html"
NEEDED_BOOTSTRAP = 6
"""The version that CDK templates require (rule CheckBootstrapVersion in each of them)."""

QUALIFIER = "hnb659fds"
"""The CDK's default qualifier, which cdk.json does not change."""


def _bootstrap(clients: AwsClients, _: Resolved) -> int:
    """Return the version of the bootstrap; 0 without one."""
    with suppressed("ParameterNotFound"):
        name = f"/cdk-bootstrap/{QUALIFIER}/version"
        return int(clients.ssm.get_parameter(Name=name)["Parameter"]["Value"])
    return 0


BOOTSTRAP = Question(
    "bootstrap", "the CDK's bootstrap", ("ssm:GetParameter",), ("ssm",), _bootstrap
)


@PREFLIGHT.rule(
    "PRE-601",
    "The account is bootstrapped",
    why="cdk deploy uploads templates to the bootstrap's bucket, and assumes its roles.",
    fix="npx cdk bootstrap aws://ACCOUNT/REGION, once for an account and Region",
    source=BOOTSTRAPPING,
)
def _is_bootstrapped(resolved: Resolved, facts: Facts) -> Iterator[Finding]:
    version = facts[BOOTSTRAP]
    fix = f"npx cdk bootstrap aws://{resolved.account}/{resolved.region}"
    if version == 0:
        message = f"account {resolved.account} is not bootstrapped in {resolved.region}"
        yield Finding(("region",), message, fix)
    elif version is not None and version < NEEDED_BOOTSTRAP:
        message = f"the bootstrap has version {version}; {NEEDED_BOOTSTRAP} is needed"
        yield Finding(("region",), message, fix)


QUESTIONS = (BOOTSTRAP,)
