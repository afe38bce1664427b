"""Evaluation of IAM policies as documented by AWS, without calling AWS. Pure.

Source: IAM user guide, "Policy evaluation logic" and "IAM JSON policy elements".
"""

from embedded_aws.iam.conditions import Condition
from embedded_aws.iam.evaluation import Decision, Policies, Principal, Request, evaluate
from embedded_aws.iam.policy import NotAPolicy, Policy, Statement, faults, policy_of

__all__ = [
    "Condition",
    "Decision",
    "NotAPolicy",
    "Policies",
    "Policy",
    "Principal",
    "Request",
    "Statement",
    "evaluate",
    "faults",
    "policy_of",
]
