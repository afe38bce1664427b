"""Launchers of a node's processes (torchrun, accelerate, deepspeed) and their arguments.

The script's variables are filled in, because long scripts keep arguments there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import zip_longest

from slurmpod.jobs.calls import Call, Values, expanded
from slurmpod.value import Value

MODULES = frozenset({"torch.distributed.run", "torch.distributed.launch"})
ONE_NODE = ("1", "1:1")
SEVERAL = re.compile(r"[2-9]|[1-9][0-9]+|gpu|auto", re.ASCII)
ITSELF = re.compile(r"(?:localhost|127\.[0-9.]+|\[?::1\]?)(?::|$)", re.IGNORECASE | re.ASCII)
"""The address of a machine for itself, with or without a port."""

NAMES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "torchrun": {
        "processes": ("nproc-per-node",),
        "nodes": ("nnodes",),
        "meeting": ("rdzv-endpoint", "master-addr"),
    },
    "accelerate": {
        "processes": ("num-processes",),
        "nodes": ("num-machines",),
        "meeting": ("main-process-ip",),
    },
    "deepspeed": {
        "processes": ("num-gpus",),
        "nodes": ("num-nodes",),
        "meeting": ("master-addr",),
        "others": ("hostfile", "H"),
    },
}
"""Names of the same options in each launcher. Sources: torch.distributed.run, "accelerate launch",
and deepspeed.launcher.runner, each with --help.
"""


class Launch(Value):
    """A call of a launcher; "" for a missing argument.

    `is_certain` is False if some arguments are unknown.
    """

    launcher: str
    processes: str
    nodes: str
    meeting: str
    is_certain: bool
    others: str = ""
    """The list of the other nodes, on which it starts processes by itself."""

    @property
    def is_for_several_nodes(self) -> bool:
        """Whether it is started for several nodes."""
        return self.nodes not in ("", *ONE_NODE)

    @property
    def is_deepspeed(self) -> bool:
        """Whether it does not wait for launchers on other nodes."""
        return self.launcher == "deepspeed"

    @property
    def starts_several(self) -> bool:
        """Whether it starts more than one process on a node; deepspeed one for each GPU."""
        return bool(SEVERAL.fullmatch(self.processes or ("gpu" if self.is_deepspeed else "")))


def launch_of(call: Call, values: Values) -> Launch | None:
    """Return the launch of a call; None if it is not a launcher."""
    launcher = _launcher(call)
    if not launcher:
        return None
    texts = expanded(" ".join(word.text for word in call.arguments), values).split()
    arguments = _arguments(texts)
    found = {
        part: next((arguments[each] for each in names if each in arguments), "")
        for part, names in NAMES[launcher].items()
    }
    is_certain = call.is_certain and not any(text.startswith("$") for text in texts)
    return Launch(launcher=launcher, is_certain=is_certain, **found)


def _launcher(call: Call) -> str:
    if call.name == "accelerate":
        return call.name if "launch" in [word.text for word in call.arguments[:1]] else ""
    if call.name.startswith("python") and any(w.text in MODULES for w in call.arguments):
        return "torchrun"
    return call.name if call.name in NAMES else ""


def _arguments(texts: list[str]) -> dict[str, str]:
    """Return arguments by their names without dashes in front; all take `_` for `-`."""
    found: dict[str, str] = {}
    for text, following in zip_longest(texts, texts[1:], fillvalue=""):
        written, equals, value = text.partition("=")
        if written.startswith("-"):
            name = written.lstrip("-").replace("_", "-")
            found.setdefault(name, value if equals else following)
    return found
