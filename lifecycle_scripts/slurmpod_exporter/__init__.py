"""Metrics that no packaged exporter has: Slurm, accelerators, EFA, Lustre, CPU totals.

A separate service, started by the lifecycle scripts if the environment enables metrics. It writes a
file that the node exporter serves with its own metrics. So it needs no port, and a command that
hangs never delays a scrape.
"""
