"""Moves of a live cluster that have no way back: which one it is, what is in its way, what stays.

Nothing is changed here: the stacks are deployed as ever, so that they and the cluster stay equal.
"""
