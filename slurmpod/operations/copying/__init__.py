"""A folder of the user's on its way to shared storage: what belongs to it, and how it travels."""
