"""Where an environment file says where job records go, for rules that point there."""

from __future__ import annotations

from slurmpod.environment.environment import Environment
from slurmpod.problems import YamlPath


def database_place(environment: Environment) -> YamlPath:
    """Return the key that names the database outside the cluster, of which there is one."""
    return ("slurm", "rds" if environment.slurm.rds else "accounting_database")
