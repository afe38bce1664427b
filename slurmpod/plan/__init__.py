"""The plan of an environment: resources, cost and duration. Pure."""
