"""An environment as a construct for any CDK app."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Self

from aws_cdk import Annotations, Stack, aws_ec2, aws_iam
from constructs import Construct

from slurmpod.environment.environment import Environment
from slurmpod.problem_text import problems_text
from slurmpod.problems import InvalidEnvironment, Problem
from slurmpod.reading.read import read
from slurmpod.resolve import Resolved
from slurmpod.rules.check import all_sound
from slurmpod_cdk.build import add_stacks
from slurmpod_cdk.feature_flags import set_feature_flags
from slurmpod_cdk.supplied import Given, Unusable, given_network, given_roles


class UnusableEnvironment(ValueError):
    """An environment file has errors or does not fit the app; the text is the complete report."""


class HyperPodEnvironment(Construct):
    """All stacks of an environment, in an `App`, a `Stage` or any other construct.

    The stacks have the names, account and Region in the file, wherever they are in the app, so that
    `slurmpod diff`, `adopt` and `connect` find them. They have the feature flags that they need,
    regardless of the app's flags.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        resolved: Resolved,
        given: Given,
    ) -> None:
        super().__init__(scope, id_)
        set_feature_flags(self)
        self.stacks: Mapping[str, Stack] = add_stacks(
            self,
            resolved,
            network=given.network.ids if given.network else None,
            role_arns=given.role_arns,
        )

    @classmethod
    def from_file(
        cls,
        scope: Construct,
        id_: str,
        file: str | Path,
        *,
        vpc: aws_ec2.IVpc | None = None,
        subnets: Mapping[str, aws_ec2.ISubnet] | None = None,
        security_groups: Sequence[aws_ec2.ISecurityGroup] = (),
        roles: Mapping[str, aws_iam.IRole] | None = None,
    ) -> Self:
        """Check an environment file as `slurmpod validate` does, and make its stacks.

        `vpc` is used instead of a new one, with its private subnet in each zone that the file
        names; `subnets` overrides them by zone. Nodes and file systems are in `security_groups`; by
        default a group is created for them. `roles` are execution roles of nodes, instead of new
        ones: of `controller` groups, and of `login` and `worker` groups if these differ.
        Warnings are annotations of the cluster's stack.

        Raises:
            UnusableEnvironment: The file has errors, or the arguments do not fit it.
        """
        reading = read(Path(file))
        given = Given()
        try:
            if environment := reading.environment:
                given = _given(environment, vpc, subnets, security_groups, roles)
                reading = replace(reading, environment=given.applied_to(environment))
            found = all_sound([reading])
        except InvalidEnvironment as invalid:
            raise UnusableEnvironment(_text(invalid.problems)) from None
        except Unusable as unusable:
            raise UnusableEnvironment(f"{file}: {unusable}") from None
        (resolved,) = found.environments
        made = cls(scope, id_, resolved=_as_written(resolved, environment), given=given)
        annotations = Annotations.of(made.stacks["cluster"])  # every environment has a cluster
        for warning in found.warnings:
            annotations.add_warning_v2(f"slurmpod:{warning.rule}", _text([warning]))
        return made

    def review(self) -> tuple[str, ...]:
        """Return the findings of cdk-nag's packs in the stacks that slurmpod does not accept."""
        from slurmpod_cdk.nag.review import review  # many apps never ask

        return review(self)

    def apply_waivers(self) -> None:
        """Acknowledge the findings of cdk-nag's packs that slurmpod accepts, with their reasons.

        For an app that has such packs among its own validations.
        """
        from slurmpod_cdk.nag.review import acknowledge  # many apps never ask

        acknowledge(self)


def _given(
    environment: Environment,
    vpc: aws_ec2.IVpc | None,
    subnets: Mapping[str, aws_ec2.ISubnet] | None,
    security_groups: Sequence[aws_ec2.ISecurityGroup],
    roles: Mapping[str, aws_iam.IRole] | None,
) -> Given:
    if vpc is None and (subnets or security_groups):
        raise Unusable(
            "subnets and security groups are given without their VPC\n  fix: pass vpc, too"
        )
    return Given(
        given_network(environment, vpc, subnets, security_groups) if vpc is not None else None,
        given_roles(environment, roles) if roles else {},
    )


def _as_written(resolved: Resolved, environment: Environment | None) -> Resolved:
    """Record the file as written, which `slurmpod diff` compares later."""
    return replace(resolved, environment=environment or resolved.environment)


def _text(problems: Sequence[Problem]) -> str:
    return problems_text(problems, StringIO())
