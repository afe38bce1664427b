"""Jobs that make a Python environment on shared storage: what is installed, and how."""
