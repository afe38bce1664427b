"""A VPC that is there already: its parts, and what it lets nodes reach."""
