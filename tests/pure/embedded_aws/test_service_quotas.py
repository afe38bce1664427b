"""Quotas as Service Quotas tells them, and an account that has been given more."""

from __future__ import annotations

from typing import Any

import pytest

from embedded_aws.errors import ServiceError
from embedded_aws.service_quotas import ServiceQuotasApi
from tests.pure.embedded_aws.cloud_fakes import REGION

P5 = "L-8762A75F"
API = ServiceQuotasApi("111122223333", "aws", {("sagemaker", P5): 16})


def call(operation: str, **given: object) -> dict[str, Any]:
    return {**(API.operations[operation](REGION, given) or {})}


@pytest.mark.parametrize(
    ("service", "code", "name", "value"),
    [
        ("sagemaker", "L-2CE978FC", "Maximum number instances allowed per SageMaker HyperPod", 20),
        ("fsx", "L-8F1B9C74", "Lustre Persistent_2 storage capacity", 100800),
        ("rds", "L-7B6409FD", "DB instances", 40),
        ("ec2", "L-0263D0A3", "EC2-VPC Elastic IPs", 5),
        ("vpc", "L-DF5E4CA3", "Network interfaces per Region", 5000),
    ],
)
def test_quotas_are_found_by_their_codes(service: str, code: str, name: str, value: int) -> None:
    quota = call("GetServiceQuota", ServiceCode=service, QuotaCode=code)["Quota"]
    assert quota["QuotaName"].startswith(name)
    assert (quota["Value"], quota["QuotaAppliedAtLevel"]) == (value, "ACCOUNT")
    assert quota["QuotaArn"].endswith(f":{REGION}:111122223333:{service}/{code}")
    assert quota["QuotaCode"] in [
        each["QuotaCode"] for each in call("ListServiceQuotas", ServiceCode=service)["Quotas"]
    ]


def test_an_account_has_other_values_than_the_defaults() -> None:
    given = {"ServiceCode": "sagemaker", "QuotaCode": P5}
    assert call("GetServiceQuota", **given)["Quota"]["Value"] == 16
    assert call("GetAWSDefaultServiceQuota", **given)["Quota"]["Value"] == 0
    (listed,) = call("ListServiceQuotas", **given)["Quotas"]
    assert (listed["QuotaName"], listed["Value"]) == ("ml.p5.48xlarge for cluster usage", 16)


@pytest.mark.parametrize("given", [("sagemaker", "L-00000000"), ("nobodys", P5)])
def test_what_is_no_quota(given: tuple[str, str]) -> None:
    with pytest.raises(ServiceError) as refused:
        call("GetServiceQuota", ServiceCode=given[0], QuotaCode=given[1])
    assert refused.value.code == "NoSuchResourceException"
