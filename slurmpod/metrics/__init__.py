"""What is made of the nodes' metrics: recording and alert rules, and dashboards. All of it pure."""
