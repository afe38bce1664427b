"""Whether identities may, and the words in which AWS says that they may not."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import botocore.parsers
import botocore.session
import pytest

from embedded_aws.answers import access_denied, unknown_credentials
from embedded_aws.calls import Call, Signature, signature_of
from embedded_aws.enforcement.callers import Identity
from embedded_aws.enforcement.gate import Judge
from embedded_aws.enforcement.resource_needs import Need
from embedded_aws.iam import Policy, Principal, policy_of
from tests.pure.embedded_aws.enforcement_requests import ACCOUNT, REGION, PlainNames

ROLE = f"arn:aws:iam::{ACCOUNT}:role/nodes"
SESSION = f"arn:aws:sts::{ACCOUNT}:assumed-role/nodes/SageMaker"
WHO = f"User: {SESSION} is not authorized to perform:"
OBJECT = "arn:aws:s3:::data/a"
KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/k"


def policy(*statements: dict[str, Any]) -> Policy:
    return policy_of("test", document(*statements))


def document(*statements: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": [allow() | each for each in statements]}


def allow(action: str = "s3:*", resource: str = "*") -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": resource}


def refusal(
    *policies: Policy,
    need: Need | None = None,
    resource_policy: dict[str, Any] | None = None,
    **limits: Policy,
) -> str | None:
    names: Any = PlainNames()
    need = need or Need("s3:GetObject", OBJECT, {})
    if resource_policy:
        names.policies[need.resource] = json.dumps(resource_policy)
    identity = Identity(
        Principal(arn=SESSION, role_arn=ROLE),
        policies,
        {name.replace("_", " "): (limit,) for name, limit in limits.items()},
        {"aws:PrincipalAccount": ACCOUNT},
    )
    return Judge(names, REGION).refusal(identity, [need])


def test_what_a_policy_allows_passes() -> None:
    assert refusal(policy(allow("s3:GetObject", "arn:aws:s3:::data/*"))) is None


def test_what_none_allows_is_refused() -> None:
    assert refusal(policy(allow("s3:PutObject"))) == (
        f'{WHO} s3:GetObject on resource: "{OBJECT}" because no identity-based policy allows the '
        "s3:GetObject action"
    )


def test_an_explicit_deny_is_named_with_the_kind_of_policy() -> None:
    deny = {"Effect": "Deny", "Action": "s3:GetObject"}
    for_all = {**deny, "Principal": "*"}

    shown = f'{WHO} s3:GetObject on resource: "{OBJECT}" with an explicit deny in'
    assert refusal(policy(allow(), deny)) == f"{shown} an identity-based policy"
    assert refusal(policy(allow()), permissions_boundary=policy(allow(), deny)) == (
        f"{shown} a permissions boundary"
    )
    assert refusal(policy(allow()), resource_policy=document(for_all)) == (
        f"{shown} a resource-based policy"
    )


def test_a_boundary_that_does_not_allow_is_named() -> None:
    message = refusal(policy(allow()), permissions_boundary=policy(allow("logs:*")))

    assert message == (
        f'{WHO} s3:GetObject on resource: "{OBJECT}" because no permissions boundary allows the '
        "s3:GetObject action"
    )


def test_a_key_whose_policy_does_not_let_the_account_in_is_refused() -> None:
    need = Need("kms:Decrypt", KEY, {})
    other = {**allow("kms:*"), "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:role/other"}}
    account = {**allow("kms:*"), "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}}
    own = {**allow("kms:*"), "Principal": {"AWS": ROLE}}
    may = policy(allow("kms:Decrypt"))

    assert refusal(may, need=need, resource_policy=document(other)) == (
        f"{WHO} kms:Decrypt on resource: {KEY} because no resource-based policy allows the "
        "kms:Decrypt action"
    )
    assert refusal(may, need=need, resource_policy=document(account)) is None
    assert refusal(need=need, resource_policy=document(own)) is None


def trust(principal: dict[str, str], **more: Any) -> dict[str, Any]:
    """Return a trust policy, whose statements have no resource."""
    statement = {"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole", **more}
    return {"Version": "2012-10-17", "Statement": [statement]}


class TestARoleToAssume:
    NEED = Need("sts:AssumeRole", f"arn:aws:iam::{ACCOUNT}:role/other", {})
    WHAT = f"{WHO} sts:AssumeRole on resource: {NEED.resource}"
    ACCOUNT_ROOT: ClassVar = {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}

    def test_trusts_nobody_whom_its_policy_does_not_let_in(self) -> None:
        may, service = policy(allow("sts:*")), {"Service": "lambda.amazonaws.com"}
        message = f"{self.WHAT} because no role trust policy allows the sts:AssumeRole action"

        assert refusal(may, need=self.NEED) == message
        assert refusal(may, need=self.NEED, resource_policy=trust(service)) == message
        bounded = refusal(
            may, need=self.NEED, resource_policy=trust(service), permissions_boundary=may
        )
        assert bounded == message

    def test_takes_an_own_policy_beside_trust_in_the_whole_account(self) -> None:
        of_account = trust(self.ACCOUNT_ROOT)

        assert refusal(policy(allow("sts:*")), need=self.NEED, resource_policy=of_account) is None
        assert refusal(need=self.NEED, resource_policy=of_account) == (
            f"{self.WHAT} because no identity-based policy allows the sts:AssumeRole action"
        )

    def test_takes_nothing_else_beside_trust_in_the_caller(self) -> None:
        assert refusal(need=self.NEED, resource_policy=trust({"AWS": ROLE})) is None

    def test_names_the_trust_policy_that_denies(self) -> None:
        shut = trust({"AWS": ROLE}, Effect="Deny")

        assert refusal(policy(allow("sts:*")), need=self.NEED, resource_policy=shut) == (
            f"{self.WHAT} with an explicit deny in the role trust policy"
        )


def test_requests_count_as_encrypted_ones() -> None:
    unless_tls = {
        "Effect": "Deny",
        "Principal": "*",
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }

    assert refusal(policy(allow()), resource_policy=document(unless_tls)) is None


def test_conditions_see_the_call_the_caller_and_the_account() -> None:
    conditions = {
        "StringLike": {"s3:prefix": "in/*"},
        "StringEquals": {"aws:ResourceAccount": "${aws:PrincipalAccount}"},
    }
    narrow = policy({**allow("s3:ListBucket"), "Condition": conditions})

    def list_of(prefix: str) -> Need:
        return Need("s3:ListBucket", "arn:aws:s3:::data", {"s3:prefix": prefix})

    assert refusal(narrow, need=list_of("in/x")) is None
    assert refusal(narrow, need=list_of("out/")) is not None


PROTOCOLS = [
    ("s3", "rest-xml", "AccessDenied", 403),
    ("sns", "query", "AuthorizationError", 403),
    ("iam", "query", "AccessDenied", 403),
    ("ec2", "ec2", "UnauthorizedOperation", 403),
    ("secretsmanager", "json", "AccessDeniedException", 400),
    ("lambda", "rest-json", "AccessDeniedException", 403),
]


@pytest.mark.parametrize(("service", "protocol", "code", "status"), PROTOCOLS)
def test_the_sdk_reads_the_refusal(service: str, protocol: str, code: str, status: int) -> None:
    call = Call(service, "Do", REGION, protocol, "GET", {})
    denial = access_denied(call, "User: a <b> is not authorized")
    response = {
        "status_code": int(denial.status.split()[0]),
        "headers": {"x-amzn-errortype": denial.error},
        "body": denial.body,
    }
    session = botocore.session.get_session()
    model = session.get_service_model(service)
    shape: Any = model.operation_model(model.operation_names[0]).output_shape
    parsed = botocore.parsers.create_parser(protocol).parse(response, shape)

    assert parsed["Error"]["Code"] == code
    assert parsed["Error"]["Message"].endswith("User: a <b> is not authorized")
    assert parsed["ResponseMetadata"]["HTTPStatusCode"] == status


def test_a_head_request_is_refused_without_a_body() -> None:
    denial = access_denied(Call("s3", "HeadObject", REGION, "rest-xml", "HEAD", {}), "no")

    assert (denial.status, denial.body) == ("403 Forbidden", b"")


@pytest.mark.parametrize(
    ("service", "protocol", "code"),
    [
        ("s3", "rest-xml", "InvalidAccessKeyId"),
        ("sts", "query", "InvalidClientTokenId"),
        ("ec2", "ec2", "AuthFailure"),
        ("logs", "json", "UnrecognizedClientException"),
    ],
)
def test_credentials_of_nobody_are_refused(service: str, protocol: str, code: str) -> None:
    assert unknown_credentials(Call(service, "Do", REGION, protocol, "GET", {})).error == code


class TestSignature:
    def test_a_header_says_who_signed(self) -> None:
        header = "AWS4-HMAC-SHA256 Credential=AKIA1/20260101/us-west-2/S3/aws4_request, Signature=0"
        environ = {"HTTP_AUTHORIZATION": header, "HTTP_X_AMZ_SECURITY_TOKEN": "t"}

        assert signature_of(environ) == Signature("AKIA1", "t", "us-west-2", "s3")

    def test_a_presigned_url_says_so_too(self) -> None:
        query = (
            "X-Amz-Credential=A%2F20260101%2Fus-west-2%2Fs3%2Faws4_request&X-Amz-Security-Token=t"
        )

        assert signature_of({"QUERY_STRING": query}) == Signature("A", "t", "us-west-2", "s3")

    @pytest.mark.parametrize("header", ["", "Basic abc", "AWS4-HMAC-SHA256 Credential=a/b"])
    def test_nobody_signed(self, header: str) -> None:
        assert signature_of({"HTTP_AUTHORIZATION": header}) is None
