"""What watches the nodes of a cluster, and needs the cluster to be there."""
