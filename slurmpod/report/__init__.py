"""One HTML page about an environment: its plan, its last deployment and its current state."""
