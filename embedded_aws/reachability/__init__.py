"""Which connections a VPC lets through: security groups, network ACLs, routes and endpoints. Pure.

`model` has the parts, `paths` asks them for one connection, `ec2` reads them from what EC2 says.
"""
