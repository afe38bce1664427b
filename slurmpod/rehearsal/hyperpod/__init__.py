"""HyperPod's own work with a cluster's machines, after its documentation and field notes."""
