"""Reading what a user wrote: YAML with positions, and the files that an environment names."""
