"""What HyperPod itself does with a cluster's machines, after its documentation and field notes."""
