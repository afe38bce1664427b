"""The container of a job: its image and its mounts.

srun starts no container here: the script that srun starts finds out the job's nodes, for which it
needs scontrol, and starts the container then, with enroot. So auto-resume is as without one, and
pyxis need not be loaded. Source: NVIDIA/enroot, doc/cmd (import, create, start).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from slurmpod.jobs.allocation import JobRefused
from slurmpod.jobs.cluster_rules import is_shared, shared_mounts
from slurmpod.jobs.recipes.recipe import Place, Recipe
from slurmpod.value import Value

STARTER = "container.sh"
SCRIPTS = (STARTER, "inside.sh")
"""The command that starts the container, and its entry point."""

CLUSTER_LOGS = "/var/log/aws/clusters"
"""What HyperPod writes about the cluster; AWS's libraries look for it (SMP v2's own scripts)."""

EFA_OF_NODE = "/opt/amazon"
"""Where AWS's installer of EFA puts libfabric (efa) and its NCCL plugin (ofi-nccl)."""

EFA_IN_CONTAINER = "/run/slurmpod-efa"
"""Mount path in the container, different from that of an image's own files."""

FILE = re.compile(r"(?:/[A-Za-z0-9_.-]+)+\.sqsh", re.ASCII)
REFERENCE = re.compile(
    r"(?:(?P<registry>[a-z0-9.-]+\.[a-z0-9-]+(?::[0-9]+)?)/)?(?P<image>[a-z0-9._/-]+(?::[\w.-]+)?)",
    re.ASCII,
)
ECR = re.compile(r"[0-9]{12}\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.(?:com|eu)", re.ASCII)
WITHOUT_CONTAINER: Mapping[str, object] = MappingProxyType({"image_file": "", "image_uri": ""})
CREDENTIALS = "enroot/.credentials"


class Container(Value):
    """An image: a file that all nodes see, and where it comes from if it is not there."""

    file: str
    uri: str
    registry: str
    mounts: tuple[str, ...]

    @property
    def values(self) -> Mapping[str, object]:
        """Return its values for the scripts."""
        options = "none:x-create=dir,rbind"
        return {
            "image_file": self.file,
            "image_uri": self.uri,
            "has_credentials": bool(self.files),
            "mounts": [f"{path}:{path}:{options}" for path in self.mounts],
        }

    @property
    def files(self) -> Mapping[str, str]:
        """Return how enroot asks for ECR's token; it runs the command, so no file has the token."""
        ecr = ECR.fullmatch(self.registry)
        if not ecr:
            return {}
        token = f"$(aws ecr get-login-password --region {ecr[1]})"
        return {CREDENTIALS: f"machine {self.registry} login AWS password {token}\n"}


def container_for(recipe: Recipe, place: Place, image: str, folder: str) -> Container | None:
    """Return the container of an image: a file, or a name such as Docker has it; "" is none.

    Raises JobRefused.
    """
    if not image:
        return None
    if recipe.why_no_container:
        raise JobRefused(
            f"{recipe.name} runs in no container: {recipe.why_no_container}",
            "leave --container-image out",
        )
    if not place.resolved.environment.lifecycle.containers:
        raise JobRefused(
            f"the nodes of {place.resolved.name} have no enroot, which starts {image}",
            "write containers: true under lifecycle",
        )
    mounts = (*shared_mounts(place.resolved), CLUSTER_LOGS)
    if image.startswith("/"):
        return Container(_checked_file(place, image), "", "", mounts)
    found = REFERENCE.fullmatch(image)
    if not found:
        raise JobRefused(
            f"'{image}' names no image",
            "write a path that ends in .sqsh, or a name such as nvcr.io/nvidia/pytorch:25.06-py3",
        )
    registry = found["registry"] or ""
    uri = f"docker://{registry}#{found['image']}" if registry else f"docker://{found['image']}"
    file = re.sub("[/:]", "_", image)
    return Container(f"{folder}/{file}.sqsh", uri, registry, mounts)


def _checked_file(place: Place, path: str) -> str:
    if not FILE.fullmatch(path):
        raise JobRefused(f"'{path}' is no file of an image", "write a path that ends in .sqsh")
    if not is_shared(place.resolved, path):
        mounts = ", ".join(shared_mounts(place.resolved))
        raise JobRefused(
            f"{path} is on no file system that all nodes share",
            f"put the image below one of them: {mounts}",
        )
    return path
