"""Recording rules, alert rules and dashboards of the nodes' metrics. All of it is pure."""
