"""Policies for people, and their sessions."""
