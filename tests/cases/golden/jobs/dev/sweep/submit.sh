#!/bin/bash
# Submits the array, and the job that follows it. Further arguments are passed to both.
set -euo pipefail

array=$(sbatch --parsable /fsx/ubuntu/sweep/sweep.sbatch "$@")
after=$(sbatch --parsable --dependency=afterany:"$array" /fsx/ubuntu/sweep/sweep-after.sbatch "$@")
echo "array $array, followed by job $after"
