"""What a user writes: the sections of an environment, their loader, and the facts they refer to."""
