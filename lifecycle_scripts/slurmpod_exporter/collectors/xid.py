"""XID errors: what the NVIDIA driver writes into the kernel's log when a GPU misbehaves.

Source: NVIDIA, "XID Errors". Those of this boot are counted; a replaced node begins anew.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from slurmpod_exporter.collector import Collector
from slurmpod_exporter.collectors.gpu import has_gpus
from slurmpod_exporter.exposition import Sample
from slurmpod_exporter.host import Host

LINE = re.compile(r"NVRM: Xid \(PCI:([0-9a-fA-F:.]+)\): ([0-9]+)")


def _collect(host: Host) -> Iterator[Sample]:
    log = host.run("journalctl", "--dmesg", "--boot", "--output=cat", "--no-pager")
    for (pci, xid), count in sorted(Counter(LINE.findall(log)).items()):
        labels = {"pci": pci.lower(), "xid": xid}
        yield Sample("slurmpod_gpu_xid_errors_total", labels, count)


XID = Collector("xid", has_gpus, _collect)
