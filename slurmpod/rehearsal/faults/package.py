"""A package that a node lacks: mirrored in the cluster's bucket, installed by the lifecycle's code.

By default nodes need none, so the faults around packages bring one of their own, which is empty.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from slurmpod.rehearsal.faults.cluster import FaultCluster
from slurmpod.rehearsal.faults.interventions import ScriptsRun, place_of, scripts_run

NAME = "slurmpod-fault"

_BUILD = f"""
folder=$(mktemp -d) && mkdir "$folder/DEBIAN" && cat >"$folder/DEBIAN/control" <<'END'
Package: {NAME}
Version: 1
Architecture: all
Maintainer: nobody <nobody@example.com>
Description: nothing
END
dpkg-deb --build "$folder" "$folder.deb" >&2 && base64 "$folder.deb"
rm -r "$folder" "$folder.deb"
"""

_INSTALL = """
import dataclasses, logging, os, sys
from slurmpod_lifecycle.packages import install_artefact
from slurmpod_lifecycle.identify import Identify
from slurmpod_lifecycle.machine import Machine
from slurmpod_lifecycle.settings import Artefact
from slurmpod_lifecycle.node import resource_config_path
from slurmpod_lifecycle.runner import Runner, State
from slurmpod_lifecycle.settings import SETTINGS, load_settings
from slurmpod_lifecycle.step import Step

name, sha256, mirror = sys.argv[1:]

class Package(Step):
    name = "package"

    def apply(self):
        install_artefact(node, name)
        return f"installed {name}"

logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
identify = Identify(load_settings(SETTINGS), Machine(), resource_config_path(os.environ))
identify.apply()
settings = identify.node.settings
both = tuple(Artefact(name, each, "", sha256, mirror) for each in ("x86_64", "arm64"))
options = dataclasses.replace(settings.node, has_way_out=False, artefacts=both)
node = dataclasses.replace(identify.node, settings=dataclasses.replace(settings, node=options))
(result,) = Runner(300).run([Package()])
print("OK: " if result.state is State.DONE else "FAILED: ", result.detail)
"""
"""The part of the scripts that installs what an environment pins, with a package of our choice."""


@dataclass(frozen=True)
class Package:
    """A package in the cluster's bucket, for one node."""

    cluster: FaultCluster
    node: str
    mirror: str
    sha256: str

    @contextmanager
    def installation(self) -> Iterator[ScriptsRun]:
        """Install it as the scripts do, in the background."""
        program = ("python3", "-uc", _INSTALL, NAME, self.sha256, self.mirror)
        with scripts_run(self.cluster, self.node, *program) as run:
            yield run


@contextmanager
def mirrored_package(cluster: FaultCluster, node: str) -> Iterator[Package]:
    """Put the package beside the cluster's scripts; take it away, from the node, too."""
    content = base64.b64decode(cluster.root(node).run(["sh", "-c", _BUILD]))
    place = place_of(cluster, node, f"{NAME}.deb")
    mirror = f"s3://{place['Bucket']}/{place['Key']}"
    package = Package(cluster, node, mirror, hashlib.sha256(content).hexdigest())
    try:
        cluster.aws.s3.put_object(**place, Body=content)
        yield package
    finally:
        cluster.aws.s3.delete_object(**place)
        cached = f"/var/cache/slurmpod/{package.sha256}.deb"
        cluster.root(node).run(["sh", "-c", f"dpkg --purge {NAME}; rm -f {cached}"])
