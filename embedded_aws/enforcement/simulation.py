"""IAM's policy simulator, with the evaluation that also authorizes requests here.

Resource-based policies count only if the caller passes them, as in IAM. The position of a statement
in its document is not returned. Sources: IAM API reference, SimulatePrincipalPolicy and
SimulateCustomPolicy; IAM user guide, "IAM policy testing with the IAM policy simulator".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embedded_aws.enforcement.callers import BOUNDARY, Identities, Identity
from embedded_aws.errors import ServiceError
from embedded_aws.iam import (
    Decision,
    NotAPolicy,
    Policies,
    Policy,
    Principal,
    Request,
    evaluate,
    policy_of,
)

Shape = dict[str, Any]

_DECISIONS = {True: "explicitDeny", False: "implicitDeny"}
_EVERYTHING = ["*"]


@dataclass(frozen=True)
class Simulation:
    """Policies and context of a simulation, and its results in the API's shape."""

    policies: Policies
    principal: Principal
    context: Mapping[str, str | Sequence[str]]

    def of(self, action: str, resources: Sequence[str]) -> Shape:
        """Return the result for one action on resources: for all of them, then for each."""
        decisions = {each: self._decide(action, each) for each in resources}
        worst = min(decisions.values(), key=lambda each: (each.allowed, not each.explicit))
        name = resources[0] if len(resources) == 1 else "*"
        return {
            "EvalActionName": action,
            "EvalResourceName": name,
            "EvalDecision": _word(worst),
            "MatchedStatements": self._matched(action, name, worst),
            "MissingContextValues": self._missing(),
            **self._boundary(action, resources),
            "ResourceSpecificResults": [
                {
                    "EvalResourceName": each,
                    "EvalResourceDecision": _word(decision),
                    "MatchedStatements": self._matched(action, each, decision),
                    "MissingContextValues": self._missing(),
                }
                for each, decision in decisions.items()
                if each != "*"
            ],
        }

    def _decide(self, action: str, resource: str) -> Decision:
        return evaluate(self._request(action, resource), self.policies)

    def _request(self, action: str, resource: str) -> Request:
        return Request(action, resource, self.context, self.principal)

    def _boundary(self, action: str, resources: Sequence[str]) -> Shape:
        bounding = self.policies.limits.get(BOUNDARY)
        if bounding is None:
            return {}
        allowed = all(
            evaluate(self._request(action, each), Policies(bounding)).allowed for each in resources
        )
        return {"PermissionsBoundaryDecisionDetail": {"AllowedByPermissionsBoundary": allowed}}

    def _matched(self, action: str, resource: str, decision: Decision) -> list[Shape]:
        """Return the policies with a statement that alone leads to the same decision."""
        if not (decision.allowed or decision.explicit):
            return []
        request = self._request(action, resource)
        return [
            {"SourcePolicyId": policy.name, "SourcePolicyType": "IAM Policy"}
            for policy in self.policies.identity
            if _same(evaluate(request, Policies([policy])), decision)
        ]

    def _missing(self) -> list[str]:
        """Return the condition keys in the policies that have no value."""
        known = {key.lower() for key in self.context}
        keys = {
            condition.key
            for policy in self.policies.identity
            for statement in policy.statements
            for condition in statement.conditions
        }
        return sorted(key for key in keys if key.lower() not in known)


def _same(one: Decision, other: Decision) -> bool:
    return (one.allowed, one.explicit) == (other.allowed, other.explicit)


def _word(decision: Decision) -> str:
    return "allowed" if decision.allowed else _DECISIONS[decision.explicit]


class PolicySimulator:
    """The two operations, for one account."""

    def __init__(self, identities: Identities, account: str, partition: str) -> None:
        self._identities = identities
        self._root = f"arn:{partition}:iam::{account}:root"

    def simulate_principal(self, given: Mapping[str, Any]) -> Shape:
        """Answer SimulatePrincipalPolicy; raises NoSuchEntity and InvalidInput."""
        identity = self._identities.named(given["PolicySourceArn"])
        more = _documents("PolicyInputList", given)
        return _results((*identity.policies, *more), identity, given)

    def simulate_custom(self, given: Mapping[str, Any]) -> Shape:
        """Answer SimulateCustomPolicy; raises InvalidInput."""
        caller = given.get("CallerArn", self._root)
        no_identity = Identity(Principal(arn=caller), (), {}, {"aws:PrincipalArn": caller})
        return _results(_documents("PolicyInputList", given), no_identity, given)


def _results(own: Sequence[Policy], identity: Identity, given: Mapping[str, Any]) -> Shape:
    bounding = _documents("PermissionsBoundaryPolicyInputList", given)
    resource = given.get("ResourcePolicy")
    policies = Policies(
        own,
        {BOUNDARY: bounding} if bounding else identity.limits,
        resource=_policy("ResourcePolicy", resource) if resource else None,
    )
    simulation = Simulation(policies, identity.principal, {**identity.context, **_context(given)})
    resources = given.get("ResourceArns") or _EVERYTHING
    for action in given["ActionNames"]:
        if ":" not in action:
            raise ServiceError("InvalidInput", f"Invalid action name: {action}")
    results = [simulation.of(action, resources) for action in given["ActionNames"]]
    return {"EvaluationResults": results, "IsTruncated": False}


def _context(given: Mapping[str, Any]) -> dict[str, str | Sequence[str]]:
    return {
        entry["ContextKeyName"]: entry.get("ContextKeyValues", ())
        for entry in given.get("ContextEntries", [])
    }


def _documents(member: str, given: Mapping[str, Any]) -> tuple[Policy, ...]:
    return tuple(
        _policy(f"{member}.{number}", text) for number, text in enumerate(given.get(member, ()), 1)
    )


def _policy(name: str, text: str) -> Policy:
    try:
        return policy_of(name, json.loads(text))
    except (ValueError, NotAPolicy) as error:
        raise ServiceError("InvalidInput", f"{name}: {error}") from error


def serve_with_moto(simulator: PolicySimulator) -> None:
    """Let moto's IAM answer with `simulator`, which replaces an earlier one."""
    from moto.iam.responses import IamResponse

    operations = {
        "simulate_principal_policy": simulator.simulate_principal,
        "simulate_custom_policy": simulator.simulate_custom,
    }
    for name, operation in operations.items():
        setattr(IamResponse, name, _answering(operation))


def _answering(operation: Callable[[Mapping[str, Any]], Shape]) -> Callable[[Any], Any]:
    from moto.core.responses import ActionResult

    def answer(response: Any) -> Any:
        try:
            return ActionResult(operation(response.params))
        except ServiceError as error:
            return ActionResult(error)

    return answer
