"""A launch script of the user's own -> what `own-program` is given to run it here."""
