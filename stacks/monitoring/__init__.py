"""Monitoring and notifications of an environment: topics, events, alarms, metrics, a budget."""
