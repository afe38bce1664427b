"""The VPC with its endpoints, and the security group of nodes and file systems."""
