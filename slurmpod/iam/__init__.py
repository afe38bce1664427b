"""Whether IAM policies allow a request, computed as AWS documents it, without asking AWS.

Source: IAM user guide, "Policy evaluation logic" and "IAM JSON policy elements".
"""

from slurmpod.iam.evaluation import Decision, Policies, evaluate
from slurmpod.iam.grammar import faults
from slurmpod.iam.policy import Condition, NotAPolicy, Policy, Statement, policy_of
from slurmpod.iam.request import Principal, Request

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
