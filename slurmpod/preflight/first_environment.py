"""The first file of an environment: small, commented, valid. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network

from slurmpod.environment.editions import NEWEST

DEFAULT_TYPE = "ml.m5.xlarge"
DEFAULT_COUNT = 2

PLAIN = re.compile(r"(?!(?:null|true|false)$)[a-z][a-z0-9.-]*")


@dataclass(frozen=True)
class ChosenSubnet:
    """A private subnet of an existing VPC."""

    vpc_id: str
    id: str
    cidr: str


@dataclass(frozen=True)
class Choices:
    """The choices: `vpc_cidr` is for a new VPC, `subnet` for an existing one."""

    name: str
    account: str
    region: str
    zone: str
    instance_type: str
    count: int
    vpc_cidr: str
    subnet: ChosenSubnet | None = None


def environment_text(choices: Choices) -> str:
    """Return the YAML, with comments for its next reader."""
    return f"""\
# Everything that is not written here has a default: slurmpod expand shows it.
edition: {NEWEST} # whose defaults AWS recommends for new clusters
name: {_scalar(choices.name)}
account: {_scalar(choices.account)}
region: {_scalar(choices.region)}

network:
  zone: {_scalar(choices.zone)} # of all nodes and file systems: where your capacity is
{_network(choices)}
storage:
  lustre: # what all nodes share, at /fsx
    capacity_gib: 1200 # it grows, and never shrinks
    on_delete: retain # the data outlive the stack, and cost until you delete them

cluster:
  groups:
    - name: controller
      role: controller
      instance_type: ml.m5.large

    - name: login # where people work
      role: login
      instance_type: ml.m5.large

    - name: workers # where jobs run
      role: worker
      instance_type: {_scalar(choices.instance_type)}
      count: {choices.count}
      partition: work
"""


def _network(choices: Choices) -> str:
    if choices.subnet is None:
        return (
            f"  vpc_cidr: {choices.vpc_cidr} # of a new VPC; no other VPC of the account has it\n"
        )
    return f"""\
  existing:
    vpc_id: {choices.subnet.vpc_id}
    subnets:
      - id: {choices.subnet.id}
        zone: {_scalar(choices.zone)}
        cidr: {choices.subnet.cidr}
"""


def _scalar(text: str) -> str:
    """Return a text in YAML, quoted if it could be read as another type."""
    return text if PLAIN.fullmatch(text) else json.dumps(text)


def free_range(taken: Iterable[str]) -> str:
    """Return a /16 of 10.0.0.0/8 that overlaps none of the ranges `taken`; the first if all do."""
    others = [IPv4Network(each) for each in taken]
    candidates = list(IPv4Network("10.0.0.0/8").subnets(new_prefix=16))
    free = (each for each in candidates if not any(each.overlaps(other) for other in others))
    return str(next(free, candidates[0]))
