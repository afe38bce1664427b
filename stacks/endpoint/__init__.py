"""A model that SageMaker serves beside the cluster."""
