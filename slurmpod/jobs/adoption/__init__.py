"""The user's launch script -> the arguments of `own-program` to run it here."""
