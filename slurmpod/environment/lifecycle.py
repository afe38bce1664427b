"""The `lifecycle` section: setup of nodes when they start."""

from dataclasses import replace
from typing import Annotated, Final, Literal

from pydantic import Field

from slurmpod.environment.base import (
    BY_SCRIPTS,
    GUARD,
    MIGRATION_GUIDE,
    NEW_NODES,
    STAYS,
    Effect,
    Kind,
    Section,
    effect_of,
)

USUAL_ARCHITECTURE: Final = "x86_64"
"""Default processor architecture of an artefact."""

LifecycleMode = Literal["customer", "extended", "managed"]
"""Who sets up Slurm: our scripts, HyperPod and then our scripts, or HyperPod alone."""

OTHER_MODE = Effect(
    Kind.LOSES,
    "changed in place, and running jobs go on; there is no way back to customer: from then on "
    "HyperPod writes slurm.conf from the request, and running nodes keep the results of their "
    "scripts",
    of_cluster=True,
    source=MIGRATION_GUIDE,
    doubt="in the guide the groups keep their OnCreate scripts; it does not cover changing or "
    "removing them in the same update",
)

HookPath = Annotated[
    str, Field(pattern=r"^[^\x00]+$", max_length=1024, examples=["hooks/worker.sh"])
]
"""Path of a script of the user's."""


class RoleHooks(Section):
    """Your own scripts for the nodes of one role, beside the steps of slurmpod."""

    before: Annotated[HookPath | None, BY_SCRIPTS] = None
    """Script that runs before the first step; relative to this file."""

    after: Annotated[HookPath | None, BY_SCRIPTS] = None
    """Script that runs after the last step; relative to this file."""


class Hooks(Section):
    """Your own scripts, by the role of the nodes."""

    controller: Annotated[RoleHooks, BY_SCRIPTS] = Field(default_factory=RoleHooks.model_construct)
    """Scripts that run on controllers."""

    login: Annotated[RoleHooks, BY_SCRIPTS] = Field(default_factory=RoleHooks.model_construct)
    """Scripts that run on login nodes."""

    worker: Annotated[RoleHooks, BY_SCRIPTS] = Field(default_factory=RoleHooks.model_construct)
    """Scripts that run on workers."""


class Artefact(Section):
    """A file that nodes need and their image may lack, pinned by its checksum."""

    name: Annotated[
        Literal["enroot", "enroot_caps", "pyxis", "mount_s3", "pam_slurm_adopt"], BY_SCRIPTS
    ]
    """What it is: the packages of enroot, pyxis or Mountpoint for Amazon S3, or your package of
    Slurm's PAM module."""

    architecture: Annotated[Literal["x86_64", "arm64"], BY_SCRIPTS] = USUAL_ARCHITECTURE
    """Processor architecture that it is for."""

    url: Annotated[
        str,
        BY_SCRIPTS,
        Field(
            pattern=r"^https://[A-Za-z0-9.-]+(:[0-9]+)?/[A-Za-z0-9._~/%+-]+\.deb$",
            max_length=1024,
            examples=["https://downloads.example.com/enroot_4.0.1-1_amd64.deb"],
        ),
    ]
    """URL of the Debian package."""

    sha256: Annotated[str, BY_SCRIPTS, Field(pattern=r"^[0-9a-f]{64}$", examples=["ab" * 32])]
    """SHA-256 of the file, in hexadecimal digits."""


class Lifecycle(Section):
    """The scripts that HyperPod runs on every new node, and who configures Slurm."""

    mode: Annotated[LifecycleMode, OTHER_MODE] = "customer"
    """Who sets up Slurm: our scripts (customer), HyperPod and then our scripts (extended), or
    HyperPod alone, without scripts (managed); default: `customer`; with `edition: 2026`
    `extended`."""

    scripts: Annotated[
        str | None, NEW_NODES, Field(pattern=r"^[^\x00]+$", examples=["./lifecycle-scripts"])
    ] = None
    """Folder with your own lifecycle scripts, in place of slurmpod's; relative to this file. All of
    it is deployed unchanged, except .git and __pycache__."""

    entry_script: Annotated[
        str | None,
        NEW_NODES,
        Field(pattern=r"^[A-Za-z0-9._-]+$", max_length=128, examples=["on_create.sh"]),
    ] = None
    """The script in that folder that HyperPod starts; default: on_create.sh, or
    on_init_complete.sh in extended mode."""

    step_timeout_seconds: Annotated[int, BY_SCRIPTS, Field(ge=10, le=3600)] = 600
    """Longest time that one step may take, retries included, before the node fails."""

    hooks: Annotated[Hooks, BY_SCRIPTS] = Field(default_factory=Hooks.model_construct)
    """Scripts of your own that run on nodes before and after the steps."""

    health_checks: Annotated[bool, replace(BY_SCRIPTS, less=STAYS)] = False
    """Check workers before and after every job: accelerators, EFA devices, scratch, shared storage
    and clock. A worker that fails drains itself, with the reason."""

    containers: Annotated[bool, replace(BY_SCRIPTS, less=STAYS)] = False
    """Docker on all nodes, and enroot with pyxis for `srun --container-image`; an existing
    installation in the image is kept.
    """

    rotate_logs: Annotated[bool, replace(BY_SCRIPTS, less=STAYS)] = True
    """Rotate the logs of Slurm and of the lifecycle scripts, so that they do not fill the root
    volume.
    """

    motd: Annotated[bool, replace(BY_SCRIPTS, less=STAYS)] = False
    """Show the cluster's name, partitions and folders at login."""

    artefacts: Annotated[
        tuple[Artefact, ...], replace(BY_SCRIPTS, removed=STAYS), Field(max_length=16)
    ] = ()
    """Packages for nodes whose image lacks them. `slurmpod artefacts mirror` copies them into the
    environment's bucket, for networks without internet access.
    """

    bucket_on_delete: Annotated[Literal["retain", "delete"], GUARD] = "retain"
    """What happens to the bucket with the scripts when its stack is deleted."""


READ_BY_SCRIPTS = tuple(
    name
    for name, field in Lifecycle.model_fields.items()
    if effect_of(field).meaning == BY_SCRIPTS.meaning
)
"""Keys of the `lifecycle` section that only slurmpod's own scripts implement."""
