"""Irreversible moves of a live cluster: which one applies, what blocks it, and what stays.

Nothing is changed here: stacks are deployed as usual, so that they match the cluster.
"""
