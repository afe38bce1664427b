"""Amazon Managed Grafana: workspaces, and in each as much of Grafana as its HTTP API tells."""
