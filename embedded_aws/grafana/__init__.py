"""Amazon Managed Grafana: workspaces, each with a part of Grafana's HTTP API."""
