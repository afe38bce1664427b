"""An existing VPC: its parts, and the connections that it allows."""
