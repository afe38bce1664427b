"""Compares the facts of slurmpod with what AWS publishes by now: `python -m tools.facts`."""
