"""The bucket with the scripts that set nodes up."""
