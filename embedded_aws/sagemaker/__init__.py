"""Amazon SageMaker: HyperPod with Slurm, training plans, models, endpoints and notebooks."""
