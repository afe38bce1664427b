#!/bin/bash
# Starts a command on this node in the job's container: in the job's folder, with its variables, all
# shared file systems, and HyperPod's files about the cluster. Arguments: the command.
set -euo pipefail

name=$SLURM_JOB_NAME-$SLURM_JOB_ID
export NVIDIA_VISIBLE_DEVICES=${NVIDIA_VISIBLE_DEVICES:-all}
variables=()
while IFS= read -r variable; do
    case $variable in
        # The image has its own paths of programs and libraries.
        PATH | LD_LIBRARY_PATH | LD_PRELOAD | PYTHONHOME | PYTHONPATH | HOME) ;;
        ENROOT_*) ;;
        *) variables+=(--env "$variable") ;;
    esac
done < <(compgen -e)

# The image is unpacked on this node's fast disk for as long as the command runs.
trap 'enroot remove --force "$name"' EXIT
enroot create --force --name "$name" /fsx/ubuntu/smp2-llama/658645717510.dkr.ecr.us-east-1.amazonaws.com_smdistributed-modelparallel_2.5.1-gpu-py311-cu124.sqsh
# Libfabric and AWS's NCCL plugin of this node, for images without them: inside.sh decides.
efa=()
of_node=/opt/amazon in_container=/run/slurmpod-efa
if [[ -d $of_node ]]; then
    efa+=(--mount "$of_node:$in_container:none:x-create=dir,rbind,ro")
fi
enroot start --rw --rc inside.sh \
    --mount /fsx:/fsx:none:x-create=dir,rbind \
    --mount /var/log/aws/clusters:/var/log/aws/clusters:none:x-create=dir,rbind \
    "${efa[@]}" \
    "${variables[@]}" "$name" "$@"
