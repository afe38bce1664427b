"""Monitoring of a cluster's nodes that requires an existing cluster."""
