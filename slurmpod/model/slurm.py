"""The `slurm` section: what of Slurm's configuration the user owns."""

from slurmpod.model.base import Section


class Slurm(Section):
    """Settings of the scheduler. HyperPod itself writes node, partition and controller lines."""

    accounting: bool = True
    """Keep job records in a database on the controller, so that `sacct` answers."""
