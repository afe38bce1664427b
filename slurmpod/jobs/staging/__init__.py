"""Data on its way to shared storage: where it comes from, and the job that copies it."""
