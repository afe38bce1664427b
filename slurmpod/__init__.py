"""slurmpod: a whole SageMaker HyperPod cluster with Slurm, from one page of YAML."""
