#!/bin/sh
# What the container runs in place of what its image would: the command, in the job's folder.
cd /fsx/ubuntu/smp2-llama || exit 1
exec "$@"
