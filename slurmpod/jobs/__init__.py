"""Batch scripts for Slurm on HyperPod: read without running them, and judged."""
