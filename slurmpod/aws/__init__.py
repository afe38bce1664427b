"""AWS, as this project calls it: the only folder that knows boto3."""
