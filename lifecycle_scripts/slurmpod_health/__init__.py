"""Health of a worker: quick checks before and after every job.

Only a fault that is certain to be this node's own takes it out of service. Mounted shared storage
never does: a file system that is full or does not answer would otherwise drain the whole partition.
Neither does anything that cannot be determined in time. If all nodes do see the same fault, no more
than half of a partition drains itself: see `scontrol`.
"""
