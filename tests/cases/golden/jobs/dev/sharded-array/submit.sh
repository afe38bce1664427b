#!/bin/bash
# Submits the array, and the job that follows it. Further arguments are passed to both.
set -euo pipefail

array=$(sbatch --parsable /fsx/ubuntu/sharded-array/sharded-array.sbatch "$@")
after=$(sbatch --parsable --dependency=afterany:"$array" /fsx/ubuntu/sharded-array/sharded-array-after.sbatch "$@")
echo "array $array, followed by job $after"
