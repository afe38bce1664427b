#!/bin/bash
# HyperPod starts this on every new node that it has not set up: Slurm is ours to start.
exec bash "$(dirname "${BASH_SOURCE[0]}")/set_up_node.sh"
