"""docs/permissions.md is as fresh as the table that it is made of."""

from __future__ import annotations

import re
from itertools import chain
from typing import Any

from slurmpod.permissions import PERMISSIONS
from slurmpod.permissions.functions import FUNCTIONS
from slurmpod.permissions.permission import Permission
from slurmpod.permissions.services import SERVICES
from tests.golden_files import ROOT, assert_matches
from tools.permissions_page import POLICIES, permissions_page

STEPS = ROOT / "lifecycle_scripts" / "slurmpod_lifecycle" / "steps"


def test_the_page_of_permissions_is_fresh(update_golden: bool) -> None:
    assert_matches(ROOT / "docs" / "permissions.md", permissions_page(), update=update_golden)


def test_every_permission_is_on_the_page() -> None:
    page = permissions_page()
    assert {permission.policy for permission in PERMISSIONS} == POLICIES.keys()
    for permission in PERMISSIONS:
        assert f"### {permission.sid}\n" in page
        for text in (*permission.actions, permission.needed_by, permission.source):
            assert text in page


def test_every_permission_says_who_needs_it_why_and_where_that_is_written() -> None:
    services = chain.from_iterable(SERVICES.values())
    every: list[Permission[Any]] = [*PERMISSIONS, *FUNCTIONS, *services]
    for permission in every:
        assert permission.why.endswith(".")
        assert permission.source.startswith("https://")
        assert permission.needed_by


def test_steps_that_need_something_are_steps() -> None:
    named = {name for each in PERMISSIONS for name in re.findall(r"\bstep (\w+)", each.needed_by)}
    assert named >= {"accounting", "mount_s3"}
    assert {f"{name}.py" for name in named} <= {file.name for file in STEPS.iterdir()}
