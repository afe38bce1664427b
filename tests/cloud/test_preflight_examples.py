"""In the account of a rehearsal nothing is missing that an environment names."""

from __future__ import annotations

from datetime import UTC, datetime

from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.server import EmbeddedAws
from slurmpod.aws.clients import clients_of
from slurmpod.preflight.check import check
from slurmpod.preflight.gather import gather
from slurmpod.reading.read import read
from slurmpod.rehearsal.existing_resources import make_existing_resources
from slurmpod.rules.check import sound
from tests.golden_files import ROOT

EXAMPLES = ("data-lake", "multi-head", "own-roles", "research-teams", "team-vision")

OF_A_NEW_ACCOUNT = {"PRE-101", "PRE-102", "PRE-601"}
"""Quotas and the bootstrap, to which rehearsals see elsewhere."""


def test_preflight_finds_what_a_rehearsal_makes_beforehand() -> None:
    with EmbeddedAws(account="123456789012", region="us-west-2") as aws:
        aws.start(CloudOnlyPlatform())
        for name in EXAMPLES:
            found = sound(read(ROOT / f"environments/examples/{name}.yaml"))
            region = found.resolved.region
            make_existing_resources(aws.clients(region), found.resolved)
            problems = check(found, gather(clients_of(region), found.resolved, datetime.now(UTC)))
            assert {each.rule for each in problems} <= OF_A_NEW_ACCOUNT, (name, problems)
