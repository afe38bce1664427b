"""The `access.directory` section: an LDAP or Active Directory server that knows users."""

from typing import Annotated, Literal

from pydantic import Field

from slurmpod.model.base import Section
from slurmpod.model.names import KmsKeyArn, SecretArn

PORT = r"(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3})"
"""A number from 1 to 65535."""

DistinguishedName = Annotated[
    str,
    Field(
        max_length=512,
        pattern=r"^[A-Za-z][A-Za-z0-9-]*=[^\x00-\x1f\x7f]+$",
        examples=["dc=example,dc=com"],
    ),
]


class Directory(Section):
    """Users and groups of a directory server, which SSSD shows to the nodes."""

    uris: Annotated[
        tuple[
            Annotated[
                str,
                Field(
                    pattern=rf"^ldaps?://[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:{PORT})?$",
                    max_length=255,
                    examples=["ldaps://ldap.example.com"],
                ),
            ],
            ...,
        ],
        Field(min_length=1, max_length=8),
    ]
    """Servers, the first one first. The connection is always encrypted: ldap:// by StartTLS."""

    base_dn: DistinguishedName
    """Where the search for users and groups begins."""

    kind: Literal["rfc2307", "rfc2307bis", "active_directory"] = "rfc2307"
    """How the directory stores members of groups, and ids."""

    bind_dn: DistinguishedName | None = None
    """Who asks; default: nobody in particular (anonymous)."""

    bind_secret_arn: SecretArn | None = None
    """Secret in Secrets Manager with the key password, for `bind_dn`; nodes fetch it themselves."""

    bind_secret_kms_key_arn: KmsKeyArn | None = None
    """Key of the secret, which nodes then may use to read it; default: AWS's own key."""

    ca_certificate: Annotated[
        str | None,
        Field(
            max_length=65_536,
            pattern=r"^\s*-----BEGIN CERTIFICATE-----",
            examples=["-----BEGIN CERTIFICATE-----"],
        ),
    ] = None
    """Certificate of the authority that signed the servers', as PEM; default: those of the
    image."""

    allowed_groups: tuple[
        Annotated[
            str, Field(pattern=r"^[^\x00-\x1f\x7f,()*\\]+$", max_length=256, examples=["hpc-users"])
        ],
        ...,
    ] = ()
    """Groups of the directory whose members may log in; default: everybody in it."""
