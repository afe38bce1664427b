"""The bucket with the lifecycle scripts of nodes."""
