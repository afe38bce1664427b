"""Faults of real clusters, injected into a rehearsed one."""
