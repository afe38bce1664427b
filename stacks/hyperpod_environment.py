"""An environment as a construct of anybody's CDK app."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Self

from aws_cdk import Annotations, Stack, aws_ec2
from constructs import Construct

from slurmpod.problem_text import problems_text
from slurmpod.problems import InvalidEnvironment, Problem
from slurmpod.reading.read import Reading, read
from slurmpod.resolve import Resolved
from slurmpod.rules.check import all_sound
from slurmpod_cdk.build import add_stacks
from slurmpod_cdk.feature_flags import set_feature_flags
from slurmpod_cdk.given_network import GivenNetwork, UnusableNetwork, given_network, with_network


class UnusableEnvironment(ValueError):
    """An environment file has errors, or does not fit the app; the text is the whole report."""


class HyperPodEnvironment(Construct):
    """All stacks of an environment, in a part of an app: an `App`, a `Stage`, any construct.

    The stacks have the names, the account and the Region that the file says, wherever they are:
    `slurmpod diff`, `adopt` and `connect` find them. They have the feature flags that they need,
    whatever the app's own are.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        resolved: Resolved,
        network: GivenNetwork | None = None,
    ) -> None:
        super().__init__(scope, id_)
        set_feature_flags(self)
        self.stacks: Mapping[str, Stack] = add_stacks(
            self, resolved, network.ids if network else None
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
    ) -> Self:
        """Check an environment file as `slurmpod validate` does, and make its stacks.

        `vpc` is used in place of a new one, with its private subnet in each zone that the file
        names; `subnets` are others, by zone. Nodes and file systems are in `security_groups`; by
        default a group is made for them. Warnings are annotations of the cluster's
        stack.

        Raises:
            UnusableEnvironment: The file has errors, or what is given does not fit it.
        """
        reading = read(Path(file))
        try:
            network = _network(reading, vpc, subnets, security_groups)
            found = all_sound([_with(reading, network)])
        except InvalidEnvironment as invalid:
            raise UnusableEnvironment(_text(invalid.problems)) from None
        except UnusableNetwork as unusable:
            raise UnusableEnvironment(f"{file}: {unusable}") from None
        (resolved,) = found.environments
        made = cls(scope, id_, resolved=_as_written(resolved, reading), network=network)
        annotations = Annotations.of(made.stacks["cluster"])  # every environment has one
        for warning in found.warnings:
            annotations.add_warning_v2(f"slurmpod:{warning.rule}", _text([warning]))
        return made

    def review(self) -> tuple[str, ...]:
        """Return what cdk-nag's packs find in the stacks that slurmpod does not accept."""
        from slurmpod_cdk.nag import review  # many apps never ask

        return review(self)

    def apply_waivers(self) -> None:
        """Acknowledge the findings of cdk-nag's packs that slurmpod accepts, with their reasons.

        For an app that has such packs among its own validations.
        """
        from slurmpod_cdk.nag import acknowledge  # many apps never ask

        acknowledge(self)


def _network(
    reading: Reading,
    vpc: aws_ec2.IVpc | None,
    subnets: Mapping[str, aws_ec2.ISubnet] | None,
    security_groups: Sequence[aws_ec2.ISecurityGroup],
) -> GivenNetwork | None:
    if vpc is not None and reading.environment:
        return given_network(reading.environment, vpc, subnets, security_groups)
    if vpc is None and (subnets or security_groups):
        raise UnusableNetwork(
            "subnets and security groups are given without their VPC\n  fix: give the vpc, too"
        )
    return None


def _with(reading: Reading, network: GivenNetwork | None) -> Reading:
    if network is None or reading.environment is None:
        return reading
    return replace(reading, environment=with_network(reading.environment, network))


def _as_written(resolved: Resolved, reading: Reading) -> Resolved:
    """Let the record of what is deployed hold the file: `slurmpod diff` compares it with that."""
    return replace(resolved, environment=reading.environment or resolved.environment)


def _text(problems: Sequence[Problem]) -> str:
    return problems_text(problems, StringIO())
