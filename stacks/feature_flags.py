"""The feature flags of the CDK that affect the templates."""

from __future__ import annotations

import json
from collections.abc import Mapping

from constructs import IConstruct

FEATURE_FLAGS: Mapping[str, bool | str] = {
    "@aws-cdk/aws-iam:minimizePolicies": True,
    "@aws-cdk/aws-lambda:useCdkManagedLogGroup": True,
    "@aws-cdk/core:defaultCrossStackReferences": "weak",
    "@aws-cdk/core:enablePartitionLiterals": True,
    "@aws-cdk/custom-resources:logApiResponseDataPropertyTrueDefault": False,
}
"""With these, templates do not depend on an app's other flags."""


class MissingFeatureFlags(ValueError):
    """An app lacks feature flags, or has different values for them; the text lists them."""


def set_feature_flags(scope: IConstruct) -> None:
    """Set the flags on a construct, before it has children; the rest of the app is unchanged."""
    for flag, value in FEATURE_FLAGS.items():
        scope.node.set_context(flag, value)


def require_feature_flags(scope: IConstruct) -> None:
    """Check the context of a construct against the flags.

    Raises:
        MissingFeatureFlags: Some are missing or different.
    """
    missing = [flag for flag, value in FEATURE_FLAGS.items() if _of(scope, flag) != value]
    if missing:
        lines = [f"    {json.dumps(flag)}: {json.dumps(FEATURE_FLAGS[flag])}" for flag in missing]
        raise MissingFeatureFlags(
            "without these feature flags of the CDK, the templates would differ:\n"
            + "\n".join(lines)
            + "\n  fix: add them to context in the app's cdk.json"
        )


def _of(scope: IConstruct, flag: str) -> object:
    """Return a flag as the CDK reads it: off by default."""
    value = scope.node.try_get_context(flag)
    return False if value is None else value
