"""Drills: a user's job under a fault, compared with its undisturbed run."""
