"""Public pages on which rules of several areas rest."""

DELETION_POLICY = (
    "https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/"
    "aws-attribute-deletionpolicy.html"
)
BUCKET_NAMES = "https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html"
IAM_QUOTAS = "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html"

ACCESS_NODES = (
    "https://docs.aws.amazon.com/sagemaker/latest/dg/"
    "sagemaker-hyperpod-run-jobs-slurm-access-nodes.html"
)
LIFECYCLE_SCRIPTS = (
    "https://docs.aws.amazon.com/sagemaker/latest/dg/"
    "sagemaker-hyperpod-lifecycle-best-practices-slurm.html"
)

ACCOUNTING = "https://slurm.schedmd.com/accounting.html"
FAIR_TREE = "https://slurm.schedmd.com/fair_tree.html"
QOS_GUIDE = "https://slurm.schedmd.com/qos.html"
RESOURCE_LIMITS = "https://slurm.schedmd.com/resource_limits.html"
SACCTMGR = "https://slurm.schedmd.com/sacctmgr.html"
