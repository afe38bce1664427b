#!/bin/sh
# Replaces the image's start command: runs the job's command in the job's folder.
cd /fsx/ubuntu/smp2-llama || exit 1

# Between nodes NCCL must use EFA, for which it needs AWS's plugin, from the image or the node.
has_plugin() {
    ! ldconfig -p 2>/dev/null | grep -q libnccl-net || return 0
    IFS=:
    for folder in ${LD_LIBRARY_PATH:-}; do
        for plugin in "$folder"/libnccl-net*.so; do
            [ ! -e "$plugin" ] || return 0
        done
    done
    return 1
}
if [ -n "${NCCL_NET:-}" ] && ! (has_plugin); then
    of_node=$(find /run/slurmpod-efa/ofi-nccl/ -name 'libnccl-net*.so' 2>/dev/null | head -n 1)
    if [ -z "$of_node" ]; then
        echo "neither the image nor node $(hostname) has AWS's NCCL plugin (libnccl-net.so), without" \
            "which NCCL does not use EFA: use an image that has it" >&2
        exit 1
    fi
    libraries=$(dirname "$of_node"):/run/slurmpod-efa/efa/lib
    export LD_LIBRARY_PATH="$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
fi
exec "$@"
