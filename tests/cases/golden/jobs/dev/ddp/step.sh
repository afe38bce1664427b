#!/bin/bash
# What srun starts on every node: finds out where the processes meet, and starts them.
# All of it is done anew when HyperPod restarts the step, as other nodes may be there then.
# Arguments: a Python program, and what is given to it. PYTHON is the Python that has PyTorch.
set -euo pipefail

PYTHON=${PYTHON:-python3}

fail() {
    echo "step.sh on $SLURMD_NODENAME: $1" >&2
    exit 1
}

[[ $# -gt 0 ]] || fail "name the program to start, e.g. train.py"

# The job's nodes as Slurm has them now: SLURM_JOB_NODELIST still names those of the job's start.
job=$(scontrol --oneliner show job "$SLURM_JOB_ID")
[[ $job =~ \ NodeList=([^ ]+) ]] || fail "scontrol does not tell the nodes of job $SLURM_JOB_ID"
hosts=$(scontrol show hostnames "${BASH_REMATCH[1]}")
rank='' count=0
for node in $hosts; do
    [[ $node != "$SLURMD_NODENAME" ]] || rank=$count
    count=$((count + 1))
done
[[ -n $rank ]] || fail "this node is not among the job's: ${hosts//$'\n'/ }"

# A restarted step has another number, and so another port: nothing of the last one is in the way.
port=$((29500 + SLURM_STEP_ID % 100))

# gloo uses the address of the host's name, which may be one that other nodes do not reach. All
# nodes reach the interface of the default route.
[[ $(ip -oneline -4 route show default) =~ \ dev\ ([^ ]+) ]] || fail "there is no default route"
export GLOO_SOCKET_IFNAME=${GLOO_SOCKET_IFNAME:-${BASH_REMATCH[1]}}
# All processes of a node share its cores; each would start a thread for every one of them.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}

# No accelerators: processes exchange with gloo, over TCP. There is nothing else to set.

exec "$PYTHON" -m torch.distributed.run \
    --nnodes="$count" --node-rank="$rank" --nproc-per-node=1 \
    --master-addr="${hosts%%$'\n'*}" --master-port="$port" "$@"
