"""What Slurm's commands print, read once for all who ask: nodes, jobs, their records. Pure."""
