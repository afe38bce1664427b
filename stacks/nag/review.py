"""cdk-nag's packs with the table of waivers: the checks before a deployment.

The packs' own suppressions are not used: they accept an empty reason, and stale suppressions are
not reported.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Set
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import PurePosixPath

from aws_cdk import Acknowledgment, Stack, Validations
from cdk_nag import (
    AwsSolutionsChecks,
    HIPAASecurityChecks,
    NIST80053R5Checks,
    PCIDSS321Checks,
)
from constructs import IConstruct

from slurmpod.resolve.environment import ENVIRONMENT_TAG
from slurmpod_cdk.nag.table import ALL_WAIVERS
from slurmpod_cdk.nag.waiver import Waiver

PACKS = (AwsSolutionsChecks, NIST80053R5Checks, HIPAASecurityChecks, PCIDSS321Checks)

_RULE_WITH_DETAIL = re.compile(r"(?P<rule>[^\[]+)(?:\[(?P<detail>.*)\])?")


@dataclass(frozen=True, order=True)
class NagFinding:
    """One finding of cdk-nag; `detail` is the text in brackets after the rule."""

    path: str
    rule: str
    detail: str
    description: str

    @property
    def id(self) -> str:
        """The rule with its detail, the id of the finding in the CDK's validations."""
        return f"{self.rule}[{self.detail}]" if self.detail else self.rule


def review(scope: IConstruct, waivers: Collection[Waiver] = ALL_WAIVERS) -> tuple[str, ...]:
    """Return the changes required before `scope` is deployed, one text each; empty if none.

    Each environment in it is reviewed separately: waivers depend on neighboring constructs.
    """
    found = findings(scope)
    environments = list(_paths_by_environment(scope))
    everywhere = frozenset[str]().union(*environments)
    return (
        *(_describe_finding(finding) for finding in found if finding.path not in everywhere),
        *(
            line
            for paths in environments
            for line in _review([each for each in found if each.path in paths], paths, waivers)
        ),
    )


def acknowledge(scope: IConstruct, waivers: Collection[Waiver] = ALL_WAIVERS) -> None:
    """Acknowledge the accepted findings in `scope` in the CDK's validations, with reasons."""
    constructs = {construct.node.path: construct for construct in scope.node.find_all()}
    found = findings(scope)
    for paths in _paths_by_environment(scope):
        holding = [waiver for waiver in waivers if _holds(waiver, paths)]
        for finding in found:
            reasons = [waiver.reason for waiver in holding if _covers(waiver, finding)]
            if finding.path in paths and reasons:
                Validations.of(constructs[finding.path]).acknowledge(
                    Acknowledgment(id=finding.id, reason=reasons[0])
                )


def findings(scope: IConstruct) -> tuple[NagFinding, ...]:
    """Run all packs over all stacks in `scope`."""
    return tuple(
        sorted(
            _finding(violation.rule_name, resource.construct_path or "", violation.description)
            for pack in PACKS
            for violation in pack().validate_scope(scope).violations
            for resource in violation.violating_resources
        )
    )


def uncovered(found: Iterable[NagFinding], waivers: Collection[Waiver]) -> tuple[NagFinding, ...]:
    """Return the findings that no waiver accepts."""
    return tuple(
        finding for finding in found if not any(_covers(waiver, finding) for waiver in waivers)
    )


def unused(
    waivers: Iterable[Waiver], found: Collection[NagFinding], paths: Collection[str]
) -> tuple[Waiver, ...]:
    """Return the waivers whose construct exists but no longer has the finding.

    A waiver for constructs that this environment lacks is not unused: other environments have them.
    """
    return tuple(
        waiver
        for waiver in waivers
        if _has(paths, waiver.path) and not any(_covers(waiver, finding) for finding in found)
    )


def _paths_by_environment(scope: IConstruct) -> Iterable[Set[str]]:
    """Yield the paths of all constructs of each environment, found by the tag of its stacks."""
    paths: dict[tuple[str, str], set[str]] = {}
    for stack in scope.node.find_all():
        if isinstance(stack, Stack):
            parent = stack.node.path.rpartition("/")[0]
            environment = stack.tags.tag_values().get(ENVIRONMENT_TAG, "")
            of_stack = {construct.node.path for construct in stack.node.find_all()}
            paths.setdefault((parent, environment), set()).update(of_stack)
    return paths.values()


def _review(
    found: Collection[NagFinding], paths: Collection[str], waivers: Collection[Waiver]
) -> Iterator[str]:
    holding = [waiver for waiver in waivers if _holds(waiver, paths)]
    yield from (_describe_finding(finding) for finding in uncovered(found, holding))
    yield from (_describe_waiver(waiver) for waiver in unused(holding, found, paths))


def _holds(waiver: Waiver, paths: Collection[str]) -> bool:
    """Return whether the neighboring constructs match the waiver's conditions."""
    return _has(paths, waiver.beside) and not (waiver.without and _has(paths, waiver.without))


def _finding(rule_name: str, path: str, description: str) -> NagFinding:
    match = _RULE_WITH_DETAIL.fullmatch(rule_name)
    rule, detail = match.group("rule", "detail") if match else (rule_name, None)
    return NagFinding(path, rule, detail or "", description)


def _covers(waiver: Waiver, finding: NagFinding) -> bool:
    return (
        fnmatchcase(finding.rule, waiver.rule)
        and fnmatchcase(finding.detail, waiver.detail)
        and _is_for(waiver, finding.path)
    )


def _is_for(waiver: Waiver, path: str) -> bool:
    return _parts(path).match(waiver.path)


def _has(paths: Iterable[str], pattern: str) -> bool:
    return any(_parts(path).match(pattern) for path in paths)


@cache
def _parts(path: str) -> PurePosixPath:
    """Return the parsed path (cached for all waivers)."""
    return PurePosixPath(path)


def _describe_finding(finding: NagFinding) -> str:
    detail = f" ({finding.detail})" if finding.detail else ""
    return (
        f"{finding.path}: {finding.rule}: {finding.description}{detail}\n"
        "  change the construct, or add a Waiver with its reason in stacks/nag"
    )


def _describe_waiver(waiver: Waiver) -> str:
    detail = f" ({waiver.detail})" if waiver.detail else ""
    return (
        f"{waiver.path}: {waiver.rule}: unnecessary waiver{detail}\n"
        "  remove the Waiver from stacks/nag: the construct no longer has this finding"
    )
