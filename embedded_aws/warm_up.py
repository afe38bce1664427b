"""First calls of the services that deployments use: moto takes seconds to load them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from botocore.exceptions import BotoCoreError, ClientError

from embedded_aws.clients import Clients


class WarmUp:
    """Calls one operation of every such service, in the background."""

    def __init__(self, aws: Clients) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(aws,), name="warm-up", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End after the call that is under way.

        A service must not load when this process is no longer isolated: it would read the user's
        profile.
        """
        self._ended.set()
        self._thread.join()

    def _run(self, aws: Clients) -> None:
        with contextlib.suppress(BotoCoreError, ClientError):
            for call in _calls(aws):
                if self._ended.is_set():
                    return
                call()


def _calls(aws: Clients) -> Iterator[Callable[[], object]]:
    yield aws.ec2.describe_vpcs
    yield aws.iam.list_roles
    yield aws.s3.list_buckets
    yield aws.service("ssm").describe_parameters
    yield aws.service("ecr").describe_repositories
    yield aws.service("lambda").list_functions
    yield aws.logs.describe_log_groups
