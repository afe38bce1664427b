"""Resolved -> the bundle of lifecycle scripts, in memory."""
