"""The `access.directory` section: an LDAP or Active Directory server that knows users."""

from typing import Annotated, Literal

from pydantic import Field

from slurmpod.environment.base import Section
from slurmpod.environment.effect import IN_PLACE, PEOPLE_LATER
from slurmpod.environment.names import KmsKeyArn, SecretArn

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
        PEOPLE_LATER,
        Field(min_length=1, max_length=8),
    ]
    """Servers, the first one first. The connection is always encrypted: ldap:// by StartTLS."""

    base_dn: Annotated[DistinguishedName, PEOPLE_LATER]
    """Where the search for users and groups begins."""

    kind: Annotated[Literal["rfc2307", "rfc2307bis", "active_directory"], PEOPLE_LATER] = "rfc2307"
    """How the directory stores members of groups, and ids."""

    bind_dn: Annotated[DistinguishedName | None, PEOPLE_LATER] = None
    """Who asks; default: nobody in particular (anonymous)."""

    bind_secret_arn: Annotated[SecretArn | None, PEOPLE_LATER] = None
    """Secret in Secrets Manager with the key password, for `bind_dn`; nodes fetch it themselves."""

    bind_secret_kms_key_arn: Annotated[KmsKeyArn | None, IN_PLACE] = None
    """Key of the secret, which nodes then may use to read it; default: AWS's own key."""

    ca_certificate: Annotated[
        str | None,
        PEOPLE_LATER,
        Field(
            max_length=65_536,
            pattern=r"^\s*-----BEGIN CERTIFICATE-----",
            examples=["-----BEGIN CERTIFICATE-----"],
        ),
    ] = None
    """Certificate of the authority that signed the servers', as PEM; default: those of the
    image."""

    allowed_groups: Annotated[
        tuple[
            Annotated[
                str,
                Field(pattern=r"^[^\x00-\x1f\x7f,()*\\]+$", max_length=256, examples=["hpc-users"]),
            ],
            ...,
        ],
        PEOPLE_LATER,
    ] = ()
    """Groups of the directory whose members may log in; default: everybody in it."""
