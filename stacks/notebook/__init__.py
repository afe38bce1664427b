"""A notebook instance beside the cluster."""
