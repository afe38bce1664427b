"""Drills: a job of the user's own under a fault, held against its undisturbed run."""
