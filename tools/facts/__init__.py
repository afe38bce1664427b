"""Compare the facts of slurmpod with those that AWS publishes now: `python -m tools.facts`."""
