"""Faults of real clusters, done to a rehearsed one; each fault is one file."""
