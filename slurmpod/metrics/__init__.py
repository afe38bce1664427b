"""Recording rules, alert rules and dashboards for the nodes' metrics. Pure."""
