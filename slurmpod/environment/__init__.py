"""Sections of an environment, as a user writes them, and the facts they refer to."""
