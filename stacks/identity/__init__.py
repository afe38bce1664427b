"""The roles of nodes."""
