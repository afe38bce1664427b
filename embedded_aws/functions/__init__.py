"""Functions of Lambda: processes of this computer that reach the embedded AWS as their role."""
