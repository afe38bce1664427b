"""boto3 clients with which the embedded AWS calls itself, as CloudFormation calls the services.

They carry the endpoint and made-up credentials themselves, so that nothing in the environment or
in ~/.aws can send them elsewhere.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import boto3
from botocore.auth import AUTH_TYPE_MAPS, SIGV4_TIMESTAMP, SigV4Auth
from botocore.config import Config

if TYPE_CHECKING:
    from botocore.awsrequest import AWSRequest, AWSResponse
    from types_boto3_ec2 import EC2Client
    from types_boto3_fsx import FSxClient
    from types_boto3_iam import IAMClient
    from types_boto3_logs import CloudWatchLogsClient
    from types_boto3_s3 import S3Client
    from types_boto3_sagemaker import SageMakerClient

SECRET_ACCESS_KEY = "embedded-aws-accepts-any-secret"  # noqa: S105 - opens nothing

_NAMED_ONLY = "embedded-aws-v4"
"""The signature version whose signatures name the signer but prove nothing."""

_CONFIG = Config(
    retries={"total_max_attempts": 1},
    s3={"addressing_style": "path"},
    proxies={},
    read_timeout=600,
    request_checksum_calculation="when_required",
    response_checksum_validation="when_required",
    signature_version=_NAMED_ONLY,
    user_agent="embedded-aws",
)
"""Options for requests of this process to itself: skipping checksums and the like saves a fifth."""


def access_key_id(account: str) -> str:
    """Return a made-up access key id of `account`.

    It contains the account because the CDK CLI remembers, across runs and by access key, which
    account a key belongs to.
    """
    return f"AKIAEMBD{account}"


class _NamedSigner(SigV4Auth):
    """Names the signer, Region and service; the signature is a dummy, as it is never verified."""

    def add_auth(self, request: AWSRequest) -> None:
        """Sign a request with a dummy signature of the usual length."""
        request.context["timestamp"] = datetime.now(tz=UTC).strftime(SIGV4_TIMESTAMP)
        self._modify_request_before_signing(request)  # type: ignore[attr-defined]
        request.headers["Authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={self.scope(request)}, SignedHeaders=host, "
            f"Signature={'0' * 64}"
        )


AUTH_TYPE_MAPS[_NAMED_ONLY] = _NamedSigner


class Clients:
    """Clients of one account and region of the embedded AWS.

    `answer` handles botocore's `before-send` event; requests it does not answer use the network.
    """

    def __init__(
        self,
        *,
        endpoint: str,
        account: str,
        region: str,
        node_endpoint: str | None = None,
        answer: Callable[..., AWSResponse | None] | None = None,
    ) -> None:
        self.account = account
        self.region = region
        self._session = boto3.Session(
            aws_access_key_id=access_key_id(account),
            aws_secret_access_key=SECRET_ACCESS_KEY,
            region_name=region,
        )
        if answer:
            self._session.events.register("before-send", answer)  # type: ignore[arg-type]
        self.partition: str = self._session.get_partition_for_region(region)
        self.dns_suffix = "amazonaws.com.cn" if self.partition == "aws-cn" else "amazonaws.com"
        self._endpoint = endpoint
        self.node_endpoint = node_endpoint or endpoint
        """The URL at which cluster nodes reach all services."""
        self._clients: dict[str, Any] = {}
        self._creation = threading.Lock()

    @property
    def endpoint(self) -> str:
        """The URL of all services."""
        return self._endpoint

    @property
    def ec2(self) -> EC2Client:
        """Amazon EC2."""
        return cast("EC2Client", self.service("ec2"))

    @property
    def fsx(self) -> FSxClient:
        """Amazon FSx."""
        return cast("FSxClient", self.service("fsx"))

    @property
    def iam(self) -> IAMClient:
        """AWS Identity and Access Management."""
        return cast("IAMClient", self.service("iam"))

    @property
    def logs(self) -> CloudWatchLogsClient:
        """Amazon CloudWatch Logs."""
        return cast("CloudWatchLogsClient", self.service("logs"))

    @property
    def s3(self) -> S3Client:
        """Amazon S3."""
        return cast("S3Client", self.service("s3"))

    @property
    def sagemaker(self) -> SageMakerClient:
        """Amazon SageMaker."""
        return cast("SageMakerClient", self.service("sagemaker"))

    def arn(self, service: str, resource: str) -> str:
        """Return the ARN of a resource of this account and region."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{resource}"

    def service(self, name: str) -> Any:
        """Return the client of any service; creating one is not thread-safe, using it is."""
        with self._creation:
            if name not in self._clients:
                self._clients[name] = self._create(name)
            return self._clients[name]

    def upload_url(self, bucket: str, key: str, validity_s: int) -> str:
        """Return a pre-signed URL that lets anyone put an object."""
        config = _CONFIG.merge(Config(signature_version="s3v4"))
        with self._creation:
            s3 = self._session.client("s3", endpoint_url=self._endpoint, config=config)
        place = {"Bucket": bucket, "Key": key}
        return s3.generate_presigned_url("put_object", Params=place, ExpiresIn=validity_s)

    def _create(self, name: str) -> Any:
        return self._session.client(name, endpoint_url=self._endpoint, config=_CONFIG)  # type: ignore[call-overload]
