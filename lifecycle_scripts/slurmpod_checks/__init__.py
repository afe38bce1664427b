"""Checks of idle nodes, run as jobs of the lowest priority to find faults before users do.

A timer on the controller runs one round after another (`rounds`). A round reads the results of
finished checks, compares nodes with others of their group, takes bad ones out of service, releases
nodes that a user's job is waiting for, and lets Slurm start the checks that are due. A check is a
batch job (`on_node`) that carries its own program and leaves its result in the job's comment: nodes
need neither files from us nor shared storage.
"""
