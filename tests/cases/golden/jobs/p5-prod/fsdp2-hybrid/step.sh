#!/bin/bash
# Runs on every node through srun: finds the rendezvous address and starts the processes.
# HyperPod runs all of it again when it restarts the step, as the nodes may have changed.
# Arguments: a Python program and its arguments. PYTHON is the Python that has PyTorch.
set -euo pipefail

PYTHON=${PYTHON:-python3}

fail() {
    echo "step.sh on $SLURMD_NODENAME: $1" >&2
    exit 1
}

[[ $# -gt 0 ]] || fail "name the program to start, e.g. train.py"

# The job's current nodes: SLURM_JOB_NODELIST still names those of the job's start.
job=$(scontrol --oneliner show job "$SLURM_JOB_ID")
[[ $job =~ \ NodeList=([^ ]+) ]] || fail "scontrol does not list the nodes of job $SLURM_JOB_ID"
hosts=$(scontrol show hostnames "${BASH_REMATCH[1]}")
rank='' count=0
for node in $hosts; do
    [[ $node != "$SLURMD_NODENAME" ]] || rank=$count
    count=$((count + 1))
done
[[ -n $rank ]] || fail "this node is not among the job's: ${hosts//$'\n'/ }"

# A restarted step has another number, and so another port, which the last one cannot block.
port=$((29500 + SLURM_STEP_ID % 100))

# gloo uses the address of the host name, which other nodes may not reach. All nodes reach the
# interface of the default route.
[[ $(ip -oneline -4 route show default) =~ \ dev\ ([^ ]+) ]] || fail "there is no default route"
export GLOO_SOCKET_IFNAME=${GLOO_SOCKET_IFNAME:-${BASH_REMATCH[1]}}
# All processes of a node share its cores; by default each would start a thread per core.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-12}

# NVIDIA GPUs. NCCL logs warnings; INFO would also show which network it chose.
export NCCL_DEBUG=${NCCL_DEBUG:-WARN}
# Processes connect through the VPC, not through the bridges of containers.
export NCCL_SOCKET_IFNAME=${NCCL_SOCKET_IFNAME:-^docker,lo,veth}
# EFA needs no settings: libfabric finds it, and AWS's NCCL plugin sets
# buffers and protocol for the instance type. FI_PROVIDER, FI_EFA_USE_DEVICE_RDMA, NCCL_PROTO and
# RDMAV_FORK_SAFE are for versions that today's images no longer have.
# Only if the log speaks of fork(): export FI_EFA_USE_HUGE_PAGE=0
# Without the plugin NCCL would silently use TCP, many times slower: with NCCL_NET it uses
# EFA or fails. All versions of the plugin have this name.
[[ $count -eq 1 ]] || export NCCL_NET=${NCCL_NET:-AWS Libfabric}

exec "$PYTHON" -m torch.distributed.run \
    --nnodes="$count" --node-rank="$rank" --nproc-per-node=8 \
    --master-addr="${hosts%%$'\n'*}" --master-port="$port" "$@"
