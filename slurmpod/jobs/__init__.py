"""Batch scripts for Slurm on HyperPod: parsed without running them, and checked."""
