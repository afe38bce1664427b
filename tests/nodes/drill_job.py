"""A training without a model: its losses depend on the step alone, its checkpoint is a number.

After an undisturbed run, it waits beyond its middle until a fault has hit it.
"""

from __future__ import annotations

from pathlib import Path

STEPS, SAVE_EVERY = 40, 10
ARGUMENTS = (str(STEPS), str(SAVE_EVERY))
PLACE = "/fsx/ubuntu/count"

SCRIPT = f"""\
#!/bin/bash
#SBATCH --job-name=count
#SBATCH --partition=cpu
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --time=UNLIMITED
#SBATCH --chdir={PLACE}
#SBATCH --output={PLACE}/%x_%j.out
set -euo pipefail
srun --auto-resume=1 --kill-on-bad-exit=1 --label python3 train.py "$@"
"""

PROGRAM = """\
import os, sys, time
from pathlib import Path

steps, save_every = int(sys.argv[1]), int(sys.argv[2])
checkpoint = Path("checkpoint")
resumes = checkpoint.exists()
step = int(checkpoint.read_text()) if resumes else 0
while step < steps:
    while step == steps // 2 + 5 and not resumes and Path("../count.undisturbed").exists():
        time.sleep(0.1)
    step += 1
    time.sleep(0.1)
    if os.environ["SLURM_PROCID"] == "0":
        print(f"step {step} loss {1 / step:.6f}", flush=True)
        if step % save_every == 0:
            Path("next").write_text(str(step))
            Path("next").rename(checkpoint)
"""


def drill_job(folder: Path) -> Path:
    """Write the folder of the job, as `job render` would; return it."""
    folder.mkdir(parents=True)
    (folder / "count.sbatch").write_text(SCRIPT)
    (folder / "train.py").write_text(PROGRAM)
    return folder
