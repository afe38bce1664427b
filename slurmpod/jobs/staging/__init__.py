"""Staging of data on shared storage: its source, and the job that copies it."""
