"""HyperPod's own actions on a cluster's machines, based on its documentation and field notes."""
