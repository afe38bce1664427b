"""Policies for people, and the sessions that they open."""
