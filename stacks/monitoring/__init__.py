"""What watches an environment and tells people: topics, events, alarms, metrics, a budget."""
