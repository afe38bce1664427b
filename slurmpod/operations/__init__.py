"""Day-2 operations: look at what is deployed, plan, and then do."""
