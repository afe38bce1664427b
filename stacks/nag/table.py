"""The findings of cdk-nag's packs that this project accepts, and why.

For security reviews; `review` fails on a finding that is not in it and on an entry that no longer
has a finding. docs/threat-model.md lists the remaining risks of accepted findings.
"""

from __future__ import annotations

from slurmpod_cdk.nag.functions import FUNCTIONS
from slurmpod_cdk.nag.policies import POLICIES
from slurmpod_cdk.nag.resources import RESOURCES

ALL_WAIVERS = (*RESOURCES, *POLICIES, *FUNCTIONS)
