"""Files of the user's machine that belong to a job: their selection, and their git state."""
