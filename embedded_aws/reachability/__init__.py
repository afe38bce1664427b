"""Which connections a VPC allows: security groups, network ACLs, routes and endpoints. Pure.

`model` has the parts, `paths` evaluates them for one connection, `ec2` reads them from EC2.
"""
