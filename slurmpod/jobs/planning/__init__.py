"""A training -> its needs: memory, meshes, steps, checkpoints, node-hours."""
