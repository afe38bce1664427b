"""Jobs that create a Python environment on shared storage."""
