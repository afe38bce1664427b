"""Parsers for the output of Slurm's commands: nodes, jobs and their records. Pure."""
