"""The moto version, settings and patches that the embedded AWS relies on.

moto's server takes a function that creates each service's application; it returns the embedded
CloudFormation, SageMaker and FSx, so those need no patch. The settings:

- every request is for the same account, regardless of its credentials (a header of moto);
- the AWS managed policies exist, so that a role with a misspelled policy ARN fails;
- no default AMIs: loading them takes time, and nothing here starts them.

The patches of EC2 are in `moto_network`, those of RDS in `moto_databases`, those of IAM in
`moto_users`, and those of SNS at the end. CloudWatch Logs gets the two operations that give a log
group another key, and FilterLogEvents the prefix of names. The others are of S3's buckets:

- moto applies a Deny statement of a bucket policy to every caller, whichever principal it names and
  whether or not its condition holds. `enforcement` has evaluated these policies before moto sees a
  request, so moto does not evaluate them again; GetBucketPolicy still returns them.
- moto accepts server access logging only once the log bucket's policy allows it. In the CDK's
  templates (flag serverAccessLogsUseBucketPolicy) the logging bucket comes first, because the
  policy refers to it, and AWS takes them in that order.

Three more save time. On a reset, moto creates each service again, which takes a tenth of a second
or two, although the next request does that, too. For each request, moto lists the methods of a
service: once is enough. For each route, werkzeug compiles a function that builds URLs, which is
never called here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NoReturn
from urllib.parse import urlsplit

from flask import Flask
from werkzeug.routing import Rule

from embedded_aws.moto_databases import patch_databases
from embedded_aws.moto_network import patch_network, wrap
from embedded_aws.moto_users import patch_users

MOTO_VERSION = "5.2.5"
ACCOUNT_HEADER = "HTTP_X_MOTO_ACCOUNT_ID"
"""The request header, in WSGI's spelling, with which moto selects the account."""

_SETTINGS = {
    "MOTO_EC2_LOAD_DEFAULT_AMIS": "false",
    "MOTO_IAM_LOAD_MANAGED_POLICIES": "true",
}


class WrongMotoVersion(Exception):
    """The installed moto is not the version that the embedded AWS requires."""


def require_moto_version() -> None:
    """Raise WrongMotoVersion unless the pinned version is installed."""
    installed = version("moto")
    if installed != MOTO_VERSION:
        raise WrongMotoVersion(
            f"The embedded AWS needs moto {MOTO_VERSION}, but {installed} is installed. "
            "Install the pinned requirements: pip install -r requirements.txt"
        )


def moto_settings() -> dict[str, str]:
    """Return the environment variables to set before moto is imported."""
    return dict(_SETTINGS)


def patch_moto() -> None:
    """Apply the patches; doing so again changes nothing."""
    from moto.core import responses
    from moto.core.base_backend import BaseBackend
    from moto.core.routing import SmithyRule
    from moto.core.utils import method_names_from_class
    from moto.logs.responses import LogsResponse
    from moto.moto_server import werkzeug_app
    from moto.s3.models import FakeBucket

    werkzeug_app.Flask = _Routed  # type: ignore[attr-defined]
    SmithyRule._compile_builder = _no_builder  # type: ignore[assignment,method-assign]  # noqa: SLF001
    BaseBackend.reset = _forget  # type: ignore[assignment,method-assign]
    responses.method_names_from_class = functools.cache(method_names_from_class)  # type: ignore[attr-defined]
    FakeBucket.get_permission = _no_opinion  # type: ignore[assignment,method-assign]
    FakeBucket._log_permissions_enabled_policy = staticmethod(_logs_are_accepted)  # type: ignore[method-assign]  # noqa: SLF001
    wrap(LogsResponse, "filter_log_events", _filter_log_events)
    LogsResponse.associate_kms_key = _associate_kms_key  # type: ignore[attr-defined]
    LogsResponse.disassociate_kms_key = _associate_kms_key  # type: ignore[attr-defined]
    patch_network()
    patch_databases()
    patch_topics()
    patch_users()


def _no_builder(rule: Rule, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:  # noqa: ARG001
    return _builds_nothing


def _builds_nothing(rule: Rule, **values: Any) -> NoReturn:
    raise NotImplementedError


class _MatchingRule(Rule):
    """A route that matches URLs but does not build them."""

    _compile_builder = _no_builder


class _Routed(Flask):
    """The application of a service of moto."""

    url_rule_class = _MatchingRule


def forget_everything() -> None:
    """Reset all of moto's services, which exist once per process."""
    from moto.core.base_backend import BackendDict

    BackendDict.reset()


def _forget(backend: Any) -> None:
    """Reset a service and remove it from moto's dictionaries: it is not used again."""
    vars(backend).clear()


def _no_opinion(bucket: Any, action: str, resource: str) -> Any:  # noqa: ARG001
    from moto.iam.access_control import PermissionResult

    return PermissionResult.NEUTRAL


def _logs_are_accepted(target_bucket: Any, target_prefix: str | None) -> bool:  # noqa: ARG001
    return True


def _associate_kms_key(response: Any) -> str:
    """Set or remove the key of a log group."""
    group = response.logs_backend.groups[response._get_param("logGroupName")]  # noqa: SLF001
    group.kms_key_id = response._get_param("kmsKeyId")  # noqa: SLF001
    return "{}"


def _filter_log_events(original: Callable[[Any], str], response: Any) -> str:
    """Search the streams with the requested name prefix; moto supports whole names only.

    Events of all streams are sorted by time, regardless of `interleaved`, and a group may be
    named by its ARN (CloudWatch Logs API reference, FilterLogEvents).
    """
    from moto.logs.exceptions import InvalidParameterException

    given = response._get_param  # noqa: SLF001
    prefix, names = given("logStreamNamePrefix"), given("logStreamNames")
    if prefix and names:
        raise InvalidParameterException(
            "logStreamNamePrefix and logStreamNames are mutually exclusive."
        )
    identifier = given("logGroupName") or given("logGroupIdentifier")
    group_name = identifier.partition(":log-group:")[2].removesuffix(":*") or identifier
    group = response.logs_backend.groups.get(group_name)
    if prefix and group:
        names = [name for name in group.streams if name.startswith(prefix)]
        names = names or [prefix]  # no stream has this name
    known = {"logStreamNames": names or [], "logGroupName": group_name, "interleaved": True}
    response._get_param = lambda name, if_none=None: known.get(name, given(name, if_none))  # noqa: SLF001
    return original(response)


LOOPBACK = ("127.0.0.1", "localhost")
WEB = ("http", "https")


def patch_topics() -> None:
    """Restrict the delivery of messages to queues and this computer; idempotent."""
    from moto.sns.models import Subscription

    if hasattr(Subscription.publish, "moto_publish"):
        return
    moto_publish = Subscription.publish

    def publish(subscription: Any, *args: Any, **kwargs: Any) -> None:
        """Send a message as moto does, unless it would leave this computer."""
        is_web = subscription.protocol in WEB
        if not is_web or urlsplit(subscription.endpoint).hostname in LOOPBACK:
            moto_publish(subscription, *args, **kwargs)

    publish.moto_publish = moto_publish  # type: ignore[attr-defined]
    Subscription.publish = publish  # type: ignore[assignment,method-assign]
