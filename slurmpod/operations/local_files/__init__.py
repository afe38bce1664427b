"""Files of the user's machine that belong to a job: which they are, and what git knows of them."""
