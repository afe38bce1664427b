"""The ARN of what a call names, whether by its name or by its ARN."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from moto.iam.models import iam_backends

from embedded_aws.enforcement.needs import needs_of
from embedded_aws.enforcement.resource_needs import Names
from tests.pure.embedded_aws.enforcement_requests import REGION, call

ACCOUNT = "210987654321"
"""No other test has roles in it."""

HERE = f"{REGION}:{ACCOUNT}"
FUNCTION = f"arn:aws:lambda:{HERE}:function:f"
STACK = f"arn:aws:cloudformation:{HERE}:stack/n/5b1c"
IAM = f"arn:aws:iam::{ACCOUNT}"
TRUST = {"AssumeRolePolicyDocument": "{}"}


@pytest.fixture(scope="module")
def names() -> Names:
    iam = iam_backends[ACCOUNT]["aws"]
    iam.create_role("worker", "{}", "/app/", None, "", [], "3600")
    iam.create_user(REGION, "ann", "/team/")
    nothing: Any = SimpleNamespace()
    return Names(ACCOUNT, "aws", clusters=nothing, sessions=nothing)


NAMED: list[tuple[str, str, dict[str, Any], str]] = [
    ("lambda", "invoke", {"FunctionName": "f"}, FUNCTION),
    ("lambda", "invoke", {"FunctionName": f"{ACCOUNT}:function:f"}, FUNCTION),
    ("lambda", "invoke", {"FunctionName": FUNCTION}, FUNCTION),
    (
        "cloudformation",
        "describe_stacks",
        {"StackName": "n"},
        f"arn:aws:cloudformation:{HERE}:stack/n/*",
    ),
    ("cloudformation", "describe_stacks", {"StackName": STACK}, STACK),
    ("iam", "get_role", {"RoleName": "worker"}, f"{IAM}:role/app/worker"),
    ("iam", "get_role", {"RoleName": "nobody"}, f"{IAM}:role/nobody"),
    ("iam", "create_role", {"RoleName": "new", **TRUST}, f"{IAM}:role/new"),
    ("iam", "create_role", {"RoleName": "new", "Path": "/a/", **TRUST}, f"{IAM}:role/a/new"),
    ("iam", "get_user", {"UserName": "ann"}, f"{IAM}:user/team/ann"),
    ("iam", "create_user", {"UserName": "new", "Path": "/a/"}, f"{IAM}:user/a/new"),
]


@pytest.mark.parametrize(
    ("service", "operation", "given", "arn"),
    [pytest.param(*each, id=f"{each[1]}-{n}") for n, each in enumerate(NAMED)],
)
def test_what_is_named_is_judged_by_its_arn(
    names: Names, service: str, operation: str, given: dict[str, Any], arn: str
) -> None:
    (need,) = needs_of(call(service, operation, **given), names)

    assert need.resource == arn
