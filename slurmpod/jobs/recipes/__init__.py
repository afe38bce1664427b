"""Recipes: kinds of jobs, each with what its user may choose."""
