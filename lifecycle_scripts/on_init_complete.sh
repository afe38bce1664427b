#!/bin/bash
# HyperPod starts this on every new node that it has set up: Slurm runs, and some things are missing.
exec bash "$(dirname "${BASH_SOURCE[0]}")/set_up_node.sh"
