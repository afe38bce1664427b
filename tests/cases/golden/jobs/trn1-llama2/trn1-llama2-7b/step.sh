#!/bin/bash
# Runs on every node through srun: finds the rendezvous address and starts the processes.
# HyperPod runs all of it again when it restarts the step, as the nodes may have changed.
# Arguments: compile or train, a Python program and its arguments.
set -euo pipefail

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
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}

# Trainium, with EFA: the Neuron collectives need both.
export FI_PROVIDER=efa
export FI_EFA_USE_DEVICE_RDMA=1
# Compiled graphs are kept on shared storage: a replaced node compiles nothing again.
export NEURON_COMPILE_CACHE_URL=$PWD/neuron-cache

# The compiler, PyTorch and their tools are those of the virtual environment alone.
export PATH=$PWD/neuron-venv/bin:$PATH
# The program imports its neighbours.
export PYTHONPATH=$PWD/nxd/examples/training/llama
# Each process of a node opens many files and connections: all that the node allows. Jobs get the
# limits of the shell that submits them, often 1024.
ulimit -S -n "$(ulimit -H -n)"

# The number of NeuronCores of a node, for the runtime and for PyTorch/XLA.
export NEURON_RT_NUM_CORES=32
export TPU_NUM_DEVICES=32
export TPU_CHIPS_PER_HOST_BOUNDS=32
# 1: FP32 is rounded to BF16 up or down at random, in proportion, so that updates too small for one
# step are not lost in all of them. The program sets it again, by --use_gpu_compatible_precision.
export NEURON_RT_STOCHASTIC_ROUNDING_EN=1
# The same random numbers in every run.
export NEURON_RT_STOCHASTIC_ROUNDING_SEED=0
# A step waits for the slowest node: 30 seconds, the default, are too short while one of them loads.
export NEURON_RT_EXEC_TIMEOUT=100
# The host prepares so many steps ahead. More than 3 may need too much memory (the launch post
# had 5). Runtimes from Neuron 2.31 on ignore it with a message.
export NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS=3
# The softmax of the attention is compiled as one operation.
export NEURON_FUSE_SOFTMAX=1
# Gradients are exchanged in pieces of this size: fewer, larger messages between nodes. PyTorch/XLA
# called it BUCKET_CAP_MB before 2.5.
export ALLREDUCE_GRADIENTS_BUCKET_SIZE_MB=1024
# glibc's heaps grow with the threads; without a limit the host's memory runs out in long trainings.
export MALLOC_ARENA_MAX=128
# Threads for compilation and transfers; by default each process would start one per core.
export XLA_THREAD_POOL_SIZE=4
# What the compiler optimizes: the layers of transformers,
NEURON_CC_FLAGS=--model-type=transformer
# which NeuronCores share, with moments that replicas share;
NEURON_CC_FLAGS+=" --distribution-strategy=llm-training"
# and sums of BF16 are kept in FP32.
export NEURON_CC_FLAGS+=" --enable-mixed-precision-accumulation"
# FI_EFA_FORK_SAFE is for Amazon Linux 2 alone. Ports need not be reserved: the one below is none of
# those that the kernel gives to connections.

stage=$1
shift
launcher=(torchrun)
if [[ $stage == compile ]]; then
    # Runs the program without computing anything, and compiles what it would compute.
    launcher=(neuron_parallel_compile torchrun)
    # Locks of an interrupted compilation. None is running: the others wait for the first
    # node, which comes after this.
    [[ $rank != 0 ]] || neuron_parallel_compile --command clear-locks
fi

exec "${launcher[@]}" \
    --nnodes="$count" --node-rank="$rank" --nproc-per-node=32 \
    --master-addr="${hosts%%$'\n'*}" --master-port="$port" "$@"
