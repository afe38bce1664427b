"""What happened to a node or a job: told by many, put into one order, with what it means."""
