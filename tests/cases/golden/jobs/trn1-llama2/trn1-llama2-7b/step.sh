#!/bin/bash
# What srun starts on every node: finds out where the processes meet, and starts them.
# All of it is done anew when HyperPod restarts the step, as other nodes may be there then.
# Arguments: compile or train, a Python program, and what is given to it.
set -euo pipefail

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

# Trainium, with EFA: the Neuron collectives ask for both.
export FI_PROVIDER=efa
export FI_EFA_USE_DEVICE_RDMA=1
# What was compiled is kept on shared storage: a replaced node compiles nothing again.
export NEURON_COMPILE_CACHE_URL=$PWD/neuron-cache

# The compiler, PyTorch and their tools are those of the virtual environment alone.
export PATH=$PWD/neuron-venv/bin:$PATH
# The program imports its neighbours.
export PYTHONPATH=$PWD/nxd/examples/training/llama
# Each process of a node opens many files and connections: all that the node allows. Jobs get the
# limits of the shell that submits them, often 1024.
ulimit -S -n "$(ulimit -H -n)"

# How many NeuronCores a node has, in the words of the runtime and of PyTorch/XLA.
export NEURON_RT_NUM_CORES=32
export TPU_NUM_DEVICES=32
export TPU_CHIPS_PER_HOST_BOUNDS=32
# 1: FP32 is rounded to BF16 up or down by chance, in proportion, so that what is too small for one
# step is not lost in all of them. The program sets it again, by --use_gpu_compatible_precision.
export NEURON_RT_STOCHASTIC_ROUNDING_EN=1
# The same chance in every run.
export NEURON_RT_STOCHASTIC_ROUNDING_SEED=0
# A step waits for the slowest node: 30 seconds, the default, are too short while one of them loads.
export NEURON_RT_EXEC_TIMEOUT=100
# The host prepares the next steps meanwhile. More than 3 may need too much memory (the launch post
# had 5). Runtimes from Neuron 2.31 on ignore it, and say so.
export NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS=3
# The softmax of the attention is compiled as one operation.
export NEURON_FUSE_SOFTMAX=1
# Gradients are exchanged in pieces of this size: fewer, larger messages between nodes. PyTorch/XLA
# called it BUCKET_CAP_MB before 2.5.
export ALLREDUCE_GRADIENTS_BUCKET_SIZE_MB=1024
# glibc's heaps grow with the threads; without a limit the host's memory runs out in long trainings.
export MALLOC_ARENA_MAX=128
# Threads with which a process compiles and transfers; each process would start one for every core.
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
    # What a compilation that was cut off has locked. None is running: the others wait for the first
    # node, which comes after this.
    [[ $rank != 0 ]] || neuron_parallel_compile --command clear-locks
fi

exec "${launcher[@]}" \
    --nnodes="$count" --node-rank="$rank" --nproc-per-node=32 \
    --master-addr="${hosts%%$'\n'*}" --master-port="$port" "$@"
