"""The plan of an environment: what is made, what it costs, and how long that takes. Pure."""
