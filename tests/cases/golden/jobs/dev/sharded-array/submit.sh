#!/bin/bash
# Submits the array, and the job that comes after it. What stands behind it is given to both.
set -euo pipefail

array=$(sbatch --parsable /fsx/ubuntu/sharded-array/sharded-array.sbatch "$@")
after=$(sbatch --parsable --dependency=afterany:"$array" /fsx/ubuntu/sharded-array/sharded-array-after.sbatch "$@")
echo "array $array, and job $after after it"
