"""`slurmpod status` without AWS's time: `python -m benchmarks.status_of_nodes COUNT`.

AWS and the controller answer at once, as in its tests; every node is drained for a different
reason, so that no lines are folded.
"""

import sys
from pathlib import Path

from rich.console import Console

from slurmpod.cli.status_text import print_status
from slurmpod.operations.status import status_of
from slurmpod.reading.read import read
from slurmpod.resolve import resolve
from tests.pure.operations.cluster_at_work import HEAD, NOW, Cluster

count = int(sys.argv[1])
nodes = [("w", f"i-{n}", f"10.0.{n // 250}.{n % 250}", "Running", "") for n in range(count)]
names = [f"ip-{node[2].replace('.', '-')}" for node in nodes]
sinfo = "".join(f"{name}|drained|idle+drain|root|x|GPU {n}|\n" for n, name in enumerate(names))
resolved = resolve(read(Path("environments/dev.yaml")))
print_status(status_of(Cluster([HEAD, *nodes], sinfo=sinfo).sources(), resolved, NOW), Console())
