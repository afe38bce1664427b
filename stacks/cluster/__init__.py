"""The HyperPod cluster itself."""
