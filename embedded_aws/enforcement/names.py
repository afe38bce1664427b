"""Names in requests -> the ARNs by which policies know them, and the policies of resources."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from moto.kms.models import kms_backends
from moto.s3.models import s3_backends
from moto.secretsmanager.models import secretsmanager_backends
from moto.sns.models import sns_backends

from embedded_aws.sagemaker.clusters import Clusters

OWN_KEY_PREFIX = "alias/aws/"
"""Keys that AWS keeps for a service: whoever may use the service may use them there."""


class Sessions(Protocol):
    """The sessions of Session Manager."""

    def tags(self, session_id: str) -> Mapping[str, str]:
        """Return the tags `session-id` and `target-id` of a session; nothing if there is none."""


class Names:
    """The things of one account of the embedded AWS."""

    def __init__(
        self,
        account: str,
        partition: str,
        *,
        clusters: Clusters,
        sessions: Sessions,
    ) -> None:
        self.account = account
        self.partition = partition
        self.sessions = sessions
        self._clusters = clusters
        self._kinds: Mapping[str, Callable[[str, str], str]] = {
            "": lambda _, name: name,
            "cluster": self._cluster,
            "key": self.key,
            "parameter": lambda _, name: name.strip("/"),
            "secret": self._secret,
        }

    def of(self, kind: str, region: str, name: str) -> str:
        """Return the ARN, or the part of it, of something of a kind; as it is without a kind."""
        return self._kinds[kind](region, name)

    def key(self, region: str, name: str) -> str:
        """Return the ARN of a KMS key by id, alias or ARN."""
        backend = kms_backends[self.account][region]
        key_id = backend.any_id_to_key_id(name)
        return f"arn:{self.partition}:kms:{region}:{self.account}:key/{key_id}"

    def secret(self, region: str, name: str) -> Any:
        """Return moto's secret by name or ARN, None if there is none."""
        return secretsmanager_backends[self.account][region].secrets.get(name)

    def bucket(self, name: str) -> Any:
        """Return moto's bucket, None if there is none."""
        return s3_backends[self.account][self.partition].buckets.get(name)

    def topic(self, arn: str) -> Any:
        """Return moto's topic, None if there is none."""
        region = arn.split(":")[3] if arn.count(":") else ""
        return sns_backends[self.account][region].topics.get(arn) if region else None

    def policy_of(self, arn: str) -> str | None:
        """Return the policy of a bucket, of an object's bucket, of a secret or of a key."""
        parts = arn.split(":", 5)
        service = parts[2] if len(parts) > 1 else ""
        if service == "s3":
            policy = getattr(self.bucket(parts[5].partition("/")[0]), "policy", None)
            return policy.decode() if policy else None
        if service == "secretsmanager":
            return getattr(self.secret(parts[3], arn), "policy", None)
        if service == "kms":
            key = kms_backends[self.account][parts[3]].keys.get(arn.rpartition("/")[2])
            return str(key.policy) if key else None
        return None

    def _cluster(self, region: str, name: str) -> str:
        if name.startswith("arn:"):
            return name
        for cluster in self._clusters.all(region):
            if cluster.name == name:
                return cluster.arn
        return f"arn:{self.partition}:sagemaker:{region}:{self.account}:cluster/{name}"

    def _secret(self, region: str, name: str) -> str:
        found = self.secret(region, name)
        if found is not None:
            return str(found.arn)
        if name.startswith("arn:"):
            return name
        return f"arn:{self.partition}:secretsmanager:{region}:{self.account}:secret:{name}"
