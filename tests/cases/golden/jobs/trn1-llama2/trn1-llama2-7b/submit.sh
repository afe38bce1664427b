#!/bin/bash
# Submits three jobs, each of which waits until the one before it has succeeded: the preparation, the
# compilation and the training. Further arguments are passed to the program of the last two.
# After the first time, submit only the training with sbatch.
set -euo pipefail

# A job that can never start is not kept.
later=(sbatch --parsable --kill-on-invalid-dep=yes)

prepare=$(sbatch --parsable /fsx/ubuntu/trn1-llama2-7b/trn1-llama2-7b-prepare.sbatch)
compile=$("${later[@]}" --dependency=afterok:"$prepare" /fsx/ubuntu/trn1-llama2-7b/trn1-llama2-7b-compile.sbatch "$@")
training=$("${later[@]}" --dependency=afterok:"$compile",singleton /fsx/ubuntu/trn1-llama2-7b/trn1-llama2-7b.sbatch "$@")
echo "job $prepare prepares, job $compile compiles after it, job $training trains after that"
