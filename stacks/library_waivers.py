"""The accepted findings of cdk-nag's packs on slurmpod's constructs in other apps.

They are those of environments, at the paths of these constructs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from aws_cdk import Stack
from constructs import IConstruct

from slurmpod_cdk.identity.node_roles import NodeRoles
from slurmpod_cdk.lifecycle.bundle import LifecycleBundle
from slurmpod_cdk.nag.review import acknowledge
from slurmpod_cdk.nag.table import ALL_WAIVERS
from slurmpod_cdk.nag.waiver import HERE, NAME, Waiver
from slurmpod_cdk.network.node_security_group import NodeSecurityGroup
from slurmpod_cdk.storage.lustre_file_system import LustreFileSystem

_ASSETS = f"Resource::arn:*:s3:::cdk-{NAME}-assets-{'[0-9]' * 12}-*/[*]"
_SCRIPTS = "Resource::<ScriptsBucket[A-F0-9]*.Arn>/[*]"
_ANYWHERE = {
    HERE: f"{NAME}:{NAME}",
    _ASSETS: f"Resource::arn:*{NAME}/[*]",
    _SCRIPTS: f"Resource::{NAME}/[*]",
}
"""Finding details in which account, Region and bucket are arbitrary or unknown."""


def accept_known_findings(scope: IConstruct) -> None:
    """Acknowledge the findings that slurmpod accepts on its constructs in `scope`, with reasons.

    For an app with cdk-nag's packs among its validations. Other findings are unaffected.
    """
    acknowledge(scope, tuple(library_waivers(scope)))


def library_waivers(scope: IConstruct) -> Iterator[Waiver]:
    """Yield the waivers for slurmpod's constructs in `scope`."""
    for construct in scope.node.find_all():
        for beginning, place in _places(construct).items():
            for waiver in ALL_WAIVERS:
                if waiver.path.startswith(beginning) and _is_for_every_cluster(waiver):
                    path = place + waiver.path.removeprefix(beginning)
                    yield replace(waiver, path=path, detail=_anywhere(waiver.detail), beside="*")


def _places(construct: IConstruct) -> Mapping[str, str]:
    """Return the paths in environments by the corresponding paths in a construct."""
    path = construct.node.path
    match construct:
        case NodeRoles():
            return {"*-identity/": f"{path}/"}
        case NodeSecurityGroup():
            return {"*-network/Nodes/": f"{path}/"}
        case LifecycleBundle():
            stack = Stack.of(construct).node.path
            return {
                "*-lifecycle/Scripts/": f"{path}/Scripts/",
                "*-lifecycle/Bundle/": f"{path}/",
                "*-lifecycle/Custom::": f"{stack}/Custom::",
            }
        case LustreFileSystem():
            stack = Stack.of(construct).node.path
            return {"*-storage/*/": f"{path}/", "*-storage/AWS": f"{stack}/AWS"}
        case _:
            return {}


def _is_for_every_cluster(waiver: Waiver) -> bool:
    """Return whether a finding does not depend on parts that only environments have."""
    return waiver.beside == "*" or waiver.beside.startswith("*-lifecycle/")


def _anywhere(detail: str) -> str:
    for known, any_of_them in _ANYWHERE.items():
        detail = detail.replace(known, any_of_them)
    return detail
