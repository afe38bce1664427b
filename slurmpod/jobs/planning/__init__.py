"""A training -> what it needs of a cluster: memory, meshes, steps, checkpoints, node-hours."""
