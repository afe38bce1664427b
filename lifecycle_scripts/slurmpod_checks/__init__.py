"""Checks of nodes that nobody uses, as jobs of the lowest priority: before people notice a fault.

A timer on the controller runs one round after the other (`rounds`). A round reads what ended
checks have found, compares nodes with others of their group, takes bad ones out of service, gives
nodes back that a user's job waits for, and lets Slurm start the checks that are due. A check is a
batch job (`on_node`), which brings its program along and leaves its result in the job's comment:
nodes need no files of ours, nor storage that they share.
"""
