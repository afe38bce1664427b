"""Logs of nodes, from CloudWatch and the nodes themselves, merged by time, without secrets."""
