"""The file systems that every node mounts."""
