"""Measures of a training, from what it wrote: loss, throughput, restarts."""
