"""Health of a worker: checks that take a moment, before and after every job.

Only what is certain to be this node's own fault takes it out of service. Storage that all nodes
share never does while it is mounted: a file system that is full or does not answer would otherwise
drain the whole partition. Nor does anything that cannot be found out in time. Should all nodes see
the same fault all the same, no more than half of a partition drains itself: see `slurm`.
"""
