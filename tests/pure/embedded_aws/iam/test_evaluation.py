from __future__ import annotations

from typing import Any

import pytest

from embedded_aws.iam import Policies, Policy, Principal, Request, evaluate, policy_of

ROLE = "arn:aws:iam::111122223333:role/nodes"
SESSION = Principal(
    arn="arn:aws:sts::111122223333:assumed-role/nodes/i-0123456789abcdef0", role_arn=ROLE
)
OBJECT = "arn:aws:s3:::scripts/lifecycle/on_create.sh"
GET = Request("s3:GetObject", OBJECT, principal=SESSION)


def policy(*statements: dict[str, Any], name: str = "P", version: str = "2012-10-17") -> Policy:
    return policy_of(name, {"Version": version, "Statement": list(statements)})


def allow(action: Any = "s3:GetObject", resource: Any = "*", **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


def deny(action: Any = "s3:GetObject", resource: Any = "*", **more: Any) -> dict[str, Any]:
    return {**allow(action, resource, **more), "Effect": "Deny"}


def allowed(request: Request = GET, *identity: Policy, **more: Any) -> bool:
    return evaluate(request, Policies(identity, **more)).allowed


def test_what_nothing_allows_is_denied() -> None:
    decision = evaluate(GET, Policies())
    assert not decision.allowed
    assert not decision.explicit
    assert decision.because == f"no policy allows s3:GetObject on {OBJECT}"


def test_a_decision_names_its_statement() -> None:
    named = policy(allow(Sid="GetScripts"), name="LifecycleScripts")
    decision = evaluate(GET, Policies([named]))
    assert decision.because == "allowed by statement GetScripts of LifecycleScripts"
    unnamed = policy(allow("s3:PutObject"), allow(), name="Scripts")
    assert "statement number 2 of Scripts" in evaluate(GET, Policies([unnamed])).because


def test_an_explicit_denial_wins_wherever_it_stands() -> None:
    for policies in (
        Policies([policy(allow()), policy(deny())]),
        Policies([policy(deny(), allow())]),
        Policies([policy(allow())], limits={"boundary": [policy(allow("*"), deny())]}),
        Policies([policy(allow())], resource=policy(deny(Principal="*"))),
    ):
        decision = evaluate(GET, policies)
        assert not decision.allowed
        assert decision.explicit
        assert "denied by statement" in decision.because


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("s3:GetObject", True),
        ("S3:getobject", True),
        ("s3:Get*", True),
        ("s3:GetObjec?", True),
        ("*", True),
        ("s3:GetObject?", False),
        ("s3:Put*", False),
        ("s3:GetObjectVersion", False),
    ],
)
def test_actions_match_in_any_case_and_with_wildcards(pattern: str, matches: bool) -> None:
    assert allowed(GET, policy(allow(pattern))) is matches
    not_action = {"Effect": "Allow", "NotAction": pattern, "Resource": "*"}
    assert allowed(GET, policy(not_action)) is not matches


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        (OBJECT, True),
        ("arn:aws:s3:::scripts/*", True),
        ("arn:aws:s3:::script?/lifecycle/*", True),
        ("arn:aws:s3:::*", True),
        ("arn:aws:s3:::Scripts/*", False),
        ("arn:aws:s3:::scripts", False),
        ("arn:aws:s3:::scripts/lifecycle", False),
        ("arn:aws-cn:s3:::scripts/*", False),
    ],
)
def test_resources_match_in_their_own_case(pattern: str, matches: bool) -> None:
    assert allowed(GET, policy(allow(resource=pattern))) is matches
    not_resource = {"Effect": "Allow", "Action": "s3:*", "NotResource": [pattern]}
    assert allowed(GET, policy(not_resource)) is not matches


def test_characters_of_regular_expressions_mean_themselves() -> None:
    request = Request("s3:GetObject", "arn:aws:s3:::a.b/x+(y)")
    assert allowed(request, policy(allow(resource="arn:aws:s3:::a.b/x+(y)")))
    assert not allowed(request, policy(allow(resource="arn:aws:s3:::a.b/x.*")))
    assert not allowed(
        Request("s3:GetObject", "arn:aws:s3:::aXb/"), policy(allow(resource="arn:aws:s3:::a.b/"))
    )


HOME = "arn:aws:s3:::homes/${aws:username}/*"


@pytest.mark.parametrize(
    ("pattern", "context", "key", "matches"),
    [
        (HOME, {"aws:username": "alice"}, "alice/x", True),
        (HOME, {"AWS:UserName": "alice"}, "alice/x", True),
        (HOME, {"aws:username": "bob"}, "alice/x", False),
        (HOME, {"aws:username": "*"}, "alice/x", False),
        (HOME, {}, "alice/x", False),
        (HOME, {}, "${aws:username}/x", False),
        ("arn:aws:s3:::homes/${aws:username, 'nobody'}/*", {}, "nobody/x", True),
        ("arn:aws:s3:::homes/${*}/*", {}, "*/x", True),
        ("arn:aws:s3:::homes/${*}/*", {}, "alice/x", False),
    ],
)
def test_variables_are_filled_in(
    pattern: str, context: dict[str, str], key: str, matches: bool
) -> None:
    request = Request("s3:GetObject", f"arn:aws:s3:::homes/{key}", context)
    assert allowed(request, policy(allow(resource=pattern))) is matches


def test_the_earlier_version_knows_no_variables() -> None:
    old = policy(allow(resource=HOME), version="2008-10-17")
    context = {"aws:username": "alice"}
    assert not allowed(Request("s3:GetObject", "arn:aws:s3:::homes/alice/x", context), old)
    literal = "arn:aws:s3:::homes/${aws:username}/x"
    assert allowed(Request("s3:GetObject", literal, context), old)


def test_a_boundary_bounds_and_allows_nothing_itself() -> None:
    boundary = {"permissions boundary": [policy(allow("s3:*"))]}
    assert not allowed(GET, limits=boundary)
    assert allowed(GET, policy(allow("*")), limits=boundary)
    query = Request("ec2:DescribeVpcs", "*")
    decision = evaluate(query, Policies([policy(allow("*"))], limits=boundary))
    assert not decision.allowed
    assert "but the permissions boundary does not" in decision.because


def test_every_limit_must_allow() -> None:
    limits = {"permissions boundary": [policy(allow("*"))], "endpoint policy": [policy()]}
    assert not allowed(GET, policy(allow("*")), limits=limits)
    assert "endpoint policy" in evaluate(GET, Policies([policy(allow())], limits)).because


@pytest.mark.parametrize(
    "principal",
    ["*", {"AWS": "*"}, {"AWS": ROLE}, {"AWS": SESSION.arn}, {"AWS": ["222233334444", ROLE]}],
)
def test_a_resource_of_the_same_account_lets_in_whom_it_names(principal: Any) -> None:
    assert allowed(resource=policy(allow(Principal=principal)))


def test_naming_the_account_leaves_the_decision_to_it() -> None:
    for name in ("111122223333", "arn:aws:iam::111122223333:root"):
        account = policy(allow(Principal={"AWS": name}))
        assert not allowed(resource=account)
        assert allowed(GET, policy(allow()), resource=account)


def test_a_boundary_bounds_what_a_resource_grants_a_role_but_not_its_session() -> None:
    bounded = {"permissions boundary": [policy(allow("ec2:*"))]}
    assert not allowed(resource=policy(allow(Principal={"AWS": ROLE})), limits=bounded)
    assert allowed(resource=policy(allow(Principal={"AWS": SESSION.arn})), limits=bounded)


def test_the_resource_of_another_account_needs_both() -> None:
    own, grant = policy(allow()), policy(allow(Principal={"AWS": ROLE}))
    account = policy(allow(Principal={"AWS": "111122223333"}))
    elsewhere = {"resource_account": "222233334444"}
    assert not allowed(GET, own, **elsewhere)
    assert not allowed(GET, resource=grant, **elsewhere)
    assert allowed(GET, own, resource=grant, **elsewhere)
    assert allowed(GET, own, resource=account, **elsewhere)
    assert not allowed(GET, own, resource=policy(allow(Principal={"AWS": "9" * 12})), **elsewhere)


def test_a_key_is_used_only_where_its_own_policy_lets_the_account_in() -> None:
    key = "arn:aws:kms:us-west-2:111122223333:key/1"
    request = Request("kms:Decrypt", key, principal=SESSION)
    own = policy(allow("kms:Decrypt", key))
    delegated = policy(allow("kms:*", Principal={"AWS": "arn:aws:iam::111122223333:root"}))
    closed = policy(allow("kms:*", Principal={"AWS": "arn:aws:iam::111122223333:role/admin"}))
    assert allowed(request, own, resource=delegated, resource_decides=True)
    assert not allowed(request, own, resource=closed, resource_decides=True)
    assert not allowed(request, resource=delegated, resource_decides=True)


def test_everybody_but_the_named_is_meant() -> None:
    others = deny(NotPrincipal={"AWS": [ROLE, "111122223333"]})
    del others["Resource"]
    resource = policy({**others, "Resource": "*"})
    assert allowed(GET, policy(allow()), resource=resource)
    stranger = Principal(arn="arn:aws:iam::999999999999:user/eve")
    assert not allowed(
        Request("s3:GetObject", OBJECT, principal=stranger), policy(allow()), resource=resource
    )


def test_a_service_is_let_in_by_its_name() -> None:
    trust = policy(
        {
            "Effect": "Allow",
            "Action": "sts:AssumeRole",
            "Principal": {"Service": "sagemaker.amazonaws.com"},
        }
    )
    request = Request(
        "sts:AssumeRole", ROLE, principal=Principal(service="sagemaker.amazonaws.com")
    )
    assert allowed(request, resource=trust)
    other = Request("sts:AssumeRole", ROLE, principal=Principal(service="ec2.amazonaws.com"))
    assert not allowed(other, resource=trust)
