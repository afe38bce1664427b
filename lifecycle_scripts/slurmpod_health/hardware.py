"""The node's accelerators and EFA interfaces, compared with the catalog.

nvidia-smi(1) lists a GPU per line; neuron-ls (AWS Neuron, Neuron LS user guide) lists a device per
object. If the tool is missing, does not answer in time, or succeeds without any output, the
drivers' device files are counted instead: for no devices, the tools print a message. A tool that
fails may still have listed all devices before it warns of something else: nvidia-smi does so for a
corrupted infoROM, with which jobs run.

EFA interfaces are the RDMA devices whose driver is `efa`; there may be others. No interface at all
is how a group without EFA looks, whose nodes are all alike: it is only reported. If only some are
missing, that is a fault of the node.
"""

from __future__ import annotations

import re
from pathlib import Path

from slurmpod_health.efa import efa_devices
from slurmpod_health.expectations import Expectations
from slurmpod_health.finding import Finding, Verdict
from slurmpod_health.probe import ProbeFailed, ProbeMissing, ProbeTimedOut, probe

ACCELERATORS = "accelerators"
SECONDS = 4.0
TOOLS = {
    "gpu": (("/usr/bin/nvidia-smi", "--list-gpus"), r"^GPU \d+:"),
    "neuron": (("/opt/aws/neuron/bin/neuron-ls", "--json-output"), r'"neuron_device"\s*:'),
}
DEVICE_FILES = {"gpu": "nvidia[0-9]*", "neuron": "neuron[0-9]*"}

EFA = "efa"


def check_accelerators(expected: Expectations) -> Finding | None:
    """Count the accelerators; return None for a node without any."""
    if not expected.accelerators:
        return None
    found, doubt = _count(expected.accelerator_kind)
    if found < expected.accelerators:
        detail = f"{found} of {expected.accelerators} accelerators"
        return Finding(ACCELERATORS, Verdict.BAD, f"{detail} ({doubt})" if doubt else detail)
    if doubt:
        return Finding(ACCELERATORS, Verdict.REPORTED, doubt)
    return Finding(ACCELERATORS, Verdict.GOOD, f"{found} accelerators")


def _count(kind: str) -> tuple[int, str]:
    """Return the number of accelerators, and why that number may be wrong."""
    command, pattern = TOOLS[kind]
    try:
        listed, doubt = probe(*command, seconds=SECONDS), ""
        if not listed.strip():
            return _device_files(kind), f"{Path(command[0]).name} said nothing"
    except ProbeMissing:
        return _device_files(kind), ""
    except ProbeTimedOut as error:
        return _device_files(kind), f"{Path(command[0]).name}: {error}"
    except ProbeFailed as error:
        listed, doubt = error.said, f"{Path(command[0]).name}: {error}"
    return len(re.findall(pattern, listed, re.MULTILINE)), doubt


def _device_files(kind: str) -> int:
    return len(list(Path("/dev").glob(DEVICE_FILES[kind])))


def check_efa(expected: Expectations) -> Finding | None:
    """Count the interfaces; return None for a type without any."""
    if not expected.efa_interfaces:
        return None
    found = len(efa_devices())
    if found >= expected.efa_interfaces:
        return Finding(EFA, Verdict.GOOD, f"{found} EFA interfaces")
    verdict = Verdict.BAD if found else Verdict.REPORTED
    return Finding(EFA, verdict, f"{found} of {expected.efa_interfaces} EFA interfaces")
