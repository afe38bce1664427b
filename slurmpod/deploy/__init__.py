"""Contents of a deployment: the CreateCluster request, and the record."""
