"""Service Quotas of the account: AWS's defaults, and configured values of the account.

Quotas are not enforced. Those of VPCs are moto's list; the others, with their sources, are in
`data/service_quotas.json`: for SageMaker, those whose codes are publicly known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from embedded_aws.errors import ServiceError
from embedded_aws.interface import Quotas
from embedded_aws.wire import Operation

Shape = dict[str, Any]

_FILE = Path(__file__).with_name("data") / "service_quotas.json"
_VPC = "vpc"


def codes_of(service: str) -> tuple[str, ...]:
    """Return the codes of a service's quotas, for callers that raise all of them."""
    return tuple(code for code, _, _ in _listed()[service]["quotas"])


class ServiceQuotasApi:
    """The operations that look quotas up; `applied` are the account's own values."""

    name: Final = "service-quotas"
    refusal: Final = "IllegalArgumentException"

    def __init__(self, account: str, partition: str, applied: Quotas) -> None:
        self._account = account
        self._partition = partition
        self._applied = applied
        self._defaults = _defaults()
        self.operations: Mapping[str, Operation] = {
            "GetAWSDefaultServiceQuota": self._get_default,
            "GetServiceQuota": self._get,
            "ListAWSDefaultServiceQuotas": self._list_defaults,
            "ListServiceQuotas": self._list,
            "ListServices": self._list_services,
        }

    def _list_services(self, _: str, given: Mapping[str, Any]) -> Shape:
        services = [
            {"ServiceCode": code, "ServiceName": next(iter(quotas.values()))["ServiceName"]}
            for code, quotas in sorted(self._defaults.items())
        ]
        return {"Services": services}

    def _list(self, region: str, given: Mapping[str, Any]) -> Shape:
        codes = self._service(given)
        asked = given.get("QuotaCode")
        return {"Quotas": [self._shape(region, given, c) for c in codes if asked in (None, c)]}

    def _list_defaults(self, region: str, given: Mapping[str, Any]) -> Shape:
        codes = self._service(given)
        return {"Quotas": [self._default(region, given, code) for code in codes]}

    def _get(self, region: str, given: Mapping[str, Any]) -> Shape:
        return {"Quota": self._shape(region, given, given["QuotaCode"])}

    def _get_default(self, region: str, given: Mapping[str, Any]) -> Shape:
        return {"Quota": self._default(region, given, given["QuotaCode"])}

    def _shape(self, region: str, given: Mapping[str, Any], code: str) -> Shape:
        default = self._default(region, given, code)
        applied = self._applied.get((given["ServiceCode"], code), default["Value"])
        return {**default, "Value": float(applied), "QuotaAppliedAtLevel": "ACCOUNT"}

    def _default(self, region: str, given: Mapping[str, Any], code: str) -> Shape:
        found = self._service(given).get(code)
        if found is None:
            raise _no_such_resource()
        service = given["ServiceCode"]
        arn = f"arn:{self._partition}:servicequotas:{region}:{self._account}:{service}/{code}"
        return {**found, "ServiceCode": service, "QuotaCode": code, "QuotaArn": arn}

    def _service(self, given: Mapping[str, Any]) -> Mapping[str, Shape]:
        if given["ServiceCode"] not in self._defaults:
            raise _no_such_resource()
        return self._defaults[given["ServiceCode"]]


def _no_such_resource() -> ServiceError:
    return ServiceError(
        "NoSuchResourceException", "The request failed because the specified quota does not exist."
    )


def _defaults() -> dict[str, dict[str, Shape]]:
    """Return the quotas by service code and quota code."""
    # moto reads the environment when it is imported, which has to be isolated by then
    from moto.servicequotas.resources.default_quotas.vpc import VPC_DEFAULT_QUOTAS

    found = {
        service: {code: _quota(entry["name"], name, value) for code, name, value in entry["quotas"]}
        for service, entry in _listed().items()
    }
    of_vpc: list[Any] = VPC_DEFAULT_QUOTAS
    found[_VPC] = {
        each["QuotaCode"]: _quota(each["ServiceName"], each["QuotaName"], each["Value"])
        for each in of_vpc
    }
    return found


def _listed() -> dict[str, Any]:
    return dict(json.loads(_FILE.read_text(encoding="utf-8")))


def _quota(service: str, name: str, value: float) -> Shape:
    return {
        "ServiceName": service,
        "QuotaName": name,
        "Value": float(value),
        "Unit": "None",
        "Adjustable": True,
        "GlobalQuota": False,
    }
