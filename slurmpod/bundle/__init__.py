"""Resolved -> the bundle of lifecycle scripts, in memory. The only user of Jinja2."""

from slurmpod.bundle.bundle import Bundle, bundle_of, render_bundle, scripts_of
from slurmpod.bundle.provisioning import (
    DATABASE_ENDPOINT,
    DATABASE_SECRET_ARN,
    OPENZFS_DNS_NAME,
    REMOTE_WRITE_URL,
    lustre_placeholders,
)

__all__ = [
    "DATABASE_ENDPOINT",
    "DATABASE_SECRET_ARN",
    "OPENZFS_DNS_NAME",
    "REMOTE_WRITE_URL",
    "Bundle",
    "bundle_of",
    "lustre_placeholders",
    "render_bundle",
    "scripts_of",
]
