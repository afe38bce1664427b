"""What S3 demands of the name of a bucket, beyond its characters and its length."""

from __future__ import annotations

from ipaddress import AddressValueError, IPv4Address

LENGTHS = range(3, 64)

RESERVED_BEGINNINGS = ("xn--", "sthree-", "amzn-s3-demo-")
RESERVED_ENDS = ("-s3alias", "--ol-s3", ".mrap", "--x-s3", "--table-s3")
"""Of access points and of kinds of buckets that are no general purpose buckets."""


def mistake_in_bucket_name(name: str) -> str | None:
    """Return what is wrong with the name of a general purpose bucket, or None.

    Source: Amazon S3 user guide, bucket naming rules.
    """
    if len(name) not in LENGTHS or name[-1] in "-.":
        return f"'{name}' is no name of a bucket: 3 to 63 characters, the last a letter or digit"
    if ".." in name:
        return f"'{name}' has two dots beside each other, which no bucket's name has"
    if _is_address(name):
        return f"'{name}' looks like an IP address, which no bucket's name may"
    if name.startswith(RESERVED_BEGINNINGS) or name.endswith(RESERVED_ENDS):
        return f"'{name}' begins or ends as only access points and special buckets do"
    return None


def _is_address(name: str) -> bool:
    try:
        IPv4Address(name)
    except AddressValueError:
        return False
    return True
