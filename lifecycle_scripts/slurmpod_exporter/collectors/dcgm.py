"""What the units of NVIDIA GPUs do, by DCGM: nvidia-smi knows only whether a GPU works at all.

From Hopper on the driver measures this by itself. On GPUs before, DCGM takes the hardware's
counters, away from profilers, and that alone has hung some until a reboot: they are not asked.
Sources: NVIDIA, "DCGM API reference", Profiling; github.com/NVIDIA/DCGM, issue 144.

What DCGM refuses is no failure, as nobody has to run its host engine: the journal tells it.
"""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Iterator

from slurmpod_exporter.collector import Collector
from slurmpod_exporter.collectors.gpu import COMMAND as NVIDIA_SMI
from slurmpod_exporter.collectors.gpu import has_gpus, is_number
from slurmpod_exporter.exposition import Sample
from slurmpod_exporter.host import CollectorFailed, Host

COMMAND = "dcgmi"
HOPPER = 9.0
"""Its compute capability (NVIDIA, "CUDA GPU Compute Capability")."""

FIELDS = {
    1002: "DCGM_FI_PROF_SM_ACTIVE",
    1003: "DCGM_FI_PROF_SM_OCCUPANCY",
    1004: "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
    1005: "DCGM_FI_PROF_DRAM_ACTIVE",
    1009: "DCGM_FI_PROF_PCIE_TX_BYTES",
    1010: "DCGM_FI_PROF_PCIE_RX_BYTES",
    1011: "DCGM_FI_PROF_NVLINK_TX_BYTES",
    1012: "DCGM_FI_PROF_NVLINK_RX_BYTES",
}
ROW = re.compile(r"^GPU +([0-9]+) +(\S.*)$", re.MULTILINE)
"""A row of a whole GPU; those of its MIG instances begin with `GPU-I` or `GPU-CI`."""

ROWS = 3
"""For each GPU, a second apart: there is nothing to tell before a second has passed."""

log = logging.getLogger("slurmpod_exporter")


def _collect(host: Host) -> Iterator[Sample]:
    fields = f"--field-id={','.join(map(str, FIELDS))}"
    try:
        table = host.run(COMMAND, "dmon", fields, f"--count={ROWS}")
    except CollectorFailed as refusal:
        _tell(str(refusal))
        return
    latest: dict[tuple[str, str], float] = {}
    for gpu, values in ROW.findall(table):
        for name, value in zip(FIELDS.values(), values.split(), strict=True):
            if is_number(value):
                latest[name, gpu] = float(value)
    for (name, gpu), number in latest.items():
        yield Sample(name, {"gpu": gpu}, number)


@functools.cache
def _tell(refusal: str) -> None:
    """Tell the journal once: a refusal may last as long as the node."""
    log.info("dcgm: %s", refusal)


def _may_be_asked(host: Host) -> bool:
    if not (host.has(COMMAND) and has_gpus(host)):
        return False
    found = host.run(NVIDIA_SMI, "--query-gpu=compute_cap", "--format=csv,noheader").split()
    return bool(found) and all(is_number(each) and float(each) >= HOPPER for each in found)


DCGM = Collector("dcgm", _may_be_asked, _collect)
