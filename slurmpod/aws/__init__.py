"""AWS API access; the only package that imports boto3."""
