"""Measures of a training from its log: loss, throughput, restarts."""
