"""References to Parameter Store and Secrets Manager in properties of resources."""

from __future__ import annotations

from typing import Any

import pytest

from embedded_aws.cloudformation.dynamic_references import with_values
from embedded_aws.resources.provider import ProviderError

ARN = "arn:aws:secretsmanager:us-west-2:111122223333:secret:db-abc"


class Stores:
    """A Parameter Store and a Secrets Manager that answer with what they were asked."""

    def service(self, name: str) -> Stores:
        return self

    def get_parameter(self, *, Name: str, WithDecryption: bool) -> dict[str, Any]:  # noqa: N803
        return {"Parameter": {"Value": f"{Name}/{WithDecryption}"}}

    def get_secret_value(self, **given: str) -> dict[str, Any]:
        return {"SecretString": '{"password": "%s"}' % "/".join(given.values())}  # noqa: UP031


@pytest.mark.parametrize(
    ("reference", "value"),
    [
        ("{{resolve:ssm:/a/b}}", "/a/b/False"),
        ("x-{{resolve:ssm:/a:2}}-{{resolve:ssm-secure:c}}", "x-/a:2/False-c/True"),
        ("{{resolve:secretsmanager:db:SecretString:password}}", "db"),
        (f"{{{{resolve:secretsmanager:{ARN}:SecretString:password}}}}", ARN),
        ("{{resolve:secretsmanager:db:SecretString:password:AWSPREVIOUS}}", "db/AWSPREVIOUS"),
        ("{{resolve:secretsmanager:db:SecretString:password::v1}}", "db/v1"),
        ("{{resolve:secretsmanager:db}}", '{"password": "db"}'),
        (f"{{{{resolve:secretsmanager:{ARN}}}}}", f'{{"password": "{ARN}"}}'),
        ("${plain}", "${plain}"),
    ],
)
def test_a_reference_becomes_what_it_refers_to(reference: str, value: str) -> None:
    properties = {"A": [{"B": reference}], "C": 1}

    assert with_values(properties, Stores()) == {"A": [{"B": value}], "C": 1}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        ("{{resolve:other:x}}", "Incorrect format"),
        ("{{resolve:secretsmanager:db:SecretString:user}}", "associated with JSONKey user"),
    ],
)
def test_a_reference_to_nothing_is_refused(reference: str, problem: str) -> None:
    with pytest.raises(ProviderError, match=problem):
        with_values(reference, Stores())  # type: ignore[arg-type]
