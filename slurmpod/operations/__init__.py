"""Day-2 operations: read the deployed state, plan changes, and carry them out."""
