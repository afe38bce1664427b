"""`slurmpod why` of all nodes without AWS's time: `python -m benchmarks.why_of_nodes COUNT`.

AWS and all nodes answer at once, as in its tests; every node is drained for a different reason, so
that no lines are folded.
"""

import sys

from rich.console import Console

from slurmpod.cli.why import print_everything
from tests.pure.operations.cluster_at_work import HEAD
from tests.pure.operations.test_why_everything import OWN, cluster, examined

count = int(sys.argv[1])
nodes = [
    ("workers", f"i-{n}", f"10.0.{n // 250}.{n % 250}", "Running", "") for n in range(1, count)
]
names = [f"ip-{node[2].replace('.', '-')}" for node in nodes]
drained = (f"NodeName={name} State=IDLE+DRAIN Reason=GPU {n} [x]\n" for n, name in enumerate(names))
asked = cluster(HEAD, *nodes, state="".join(drained))
asked.answers_of |= {node[1]: {"zone": "+0000\n", "own": f"{OWN}gpus 8\n"} for node in nodes}
print_everything(examined(asked), Console())
