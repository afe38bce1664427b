"""Amazon SageMaker HyperPod with Slurm: the cluster API. Nothing else of SageMaker is here."""
