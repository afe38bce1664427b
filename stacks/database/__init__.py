"""The RDS server for job records."""
