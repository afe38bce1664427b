"""A model that SageMaker serves next to the cluster."""
