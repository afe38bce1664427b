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
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-6}

# NVIDIA GPUs. NCCL says what is wrong; INFO would also show which network it chose.
export NCCL_DEBUG=${NCCL_DEBUG:-WARN}
# For their first contact processes need the VPC, not the bridges of containers.
export NCCL_SOCKET_IFNAME=${NCCL_SOCKET_IFNAME:-^docker,lo,veth}
# EFA is there, and nothing has to be set for it: libfabric finds it, and AWS's NCCL plugin sets
# buffers and protocol for the instance type. FI_PROVIDER, FI_EFA_USE_DEVICE_RDMA, NCCL_PROTO and
# RDMAV_FORK_SAFE are for versions that today's images no longer have.
# Only if the log speaks of fork(): export FI_EFA_USE_HUGE_PAGE=0
# Without the plugin NCCL would use TCP, many times slower, and say nothing: between nodes it takes
# EFA or ends. All versions of the plugin answer to this name.
[[ $count -eq 1 ]] || export NCCL_NET=${NCCL_NET:-AWS Libfabric}
# GPUs without NVLink exchange through the host's memory, which their copy engines do faster.
export NCCL_SHM_USE_CUDA_MEMCPY=${NCCL_SHM_USE_CUDA_MEMCPY:-1}

# Modules of these folders are found, wherever the program lies.
export PYTHONPATH=/fsx/ubuntu/own-program${PYTHONPATH:+:$PYTHONPATH}

exec "$PYTHON" -m torch.distributed.run \
    --nnodes="$count" --node-rank="$rank" --nproc-per-node=4 \
    --master-addr="${hosts%%$'\n'*}" --master-port="$port" "$@"
