"""The server of RDS for job records."""
