"""Metrics of a node that no packaged exporter gives: Slurm, accelerators, EFA, Lustre, CPU totals.

A service of its own, started by the lifecycle scripts where the environment asks for metrics. It
writes a file that the node exporter serves with its own metrics, so that it needs no port, and a
command that hangs keeps nobody waiting who asks for metrics.
"""
