"""Contents of a deployment: the CreateCluster request, permissions of nodes, and the record."""
