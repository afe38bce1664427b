"""The embedded AWS: one account on one loopback port, gone without a trace when it is closed."""

from __future__ import annotations

import logging
import os
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from slurmpod.rehearsal.cloud.clients import Clients
from slurmpod.rehearsal.cloud.cloudformation.api import CloudFormationApi
from slurmpod.rehearsal.cloud.cloudformation.engine import CloudFormation
from slurmpod.rehearsal.cloud.fsx.api import FsxApi
from slurmpod.rehearsal.cloud.fsx.file_systems import FileSystems
from slurmpod.rehearsal.cloud.isolation import (
    isolated_environment,
    process_environment,
    variables,
)
from slurmpod.rehearsal.cloud.loopback import LoopbackServer
from slurmpod.rehearsal.cloud.moto_setup import (
    forget_everything,
    moto_settings,
    patch_moto,
    require_moto_version,
)
from slurmpod.rehearsal.cloud.sagemaker.api import SageMakerApi
from slurmpod.rehearsal.cloud.sagemaker.clusters import Clusters
from slurmpod.rehearsal.cloud.warm_up import warm_up

if TYPE_CHECKING:
    from types import TracebackType

    from slurmpod.rehearsal.cloud.platform import ClusterPlatform

_one_per_process = threading.Lock()


class AlreadyRunning(Exception):
    """There is an embedded AWS in this process already; moto's services live once per process."""


class EmbeddedAws:
    """An AWS of one account; `region` is the one that tools use unless told otherwise.

    The port is taken at once, so that `endpoint` is known before anything answers there. Raises
    PortInUse or WrongMotoVersion.
    """

    def __init__(self, *, account: str, region: str, port: int | None = None) -> None:
        require_moto_version()
        self.account = account
        self.region = region
        self._server = LoopbackServer(port)
        self._open = ExitStack()
        self._open.callback(self._server.close)
        self._clients: dict[str, Clients] = {}
        self._clients_lock = threading.Lock()

    @property
    def endpoint(self) -> str:
        """The address of every service, such as `http://localhost:41234`.

        The name matters: SDKs put bucket names in front of it, and *.localhost is this machine.
        """
        return f"http://localhost:{self._server.port}"

    def environment(self) -> dict[str, str]:
        """Return the variables that lead AWS tools here.

        Give subprocesses `isolated_environment(os.environ, aws.environment())`: what the user's
        own environment says about AWS has to go, too.
        """
        return variables(endpoint=self.endpoint, account=self.account, region=self.region)

    def start(self, platform: ClusterPlatform) -> None:
        """Begin to answer, with clusters made by `platform`; raises AlreadyRunning.

        From now on this process is isolated, too: its environment leads nowhere but here.
        """
        if not _one_per_process.acquire(blocking=False):
            raise AlreadyRunning("An embedded AWS is already running in this process: close() it")
        self._open.callback(_one_per_process.release)
        isolated = isolated_environment(os.environ, self.environment() | moto_settings())
        self._open.enter_context(process_environment(isolated))
        forget_everything()
        self._open.callback(forget_everything)
        self._serve(platform)
        warm_up(self.clients())

    def close(self) -> None:
        """Stop answering and forget everything; may be called again."""
        self._open.close()

    def __enter__(self) -> Self:
        """Do nothing; the context ends with `close`."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()

    def clients(self, region: str | None = None) -> Clients:
        """Return boto3 clients of the embedded AWS, by default in its own region."""
        region = region or self.region
        with self._clients_lock:
            if region not in self._clients:
                self._clients[region] = Clients(
                    endpoint=self.endpoint, account=self.account, region=region
                )
            return self._clients[region]

    def _serve(self, platform: ClusterPlatform) -> None:
        # moto takes 0.3 s to import and looks at the environment when it is
        from slurmpod.rehearsal.cloud.application import QuietRequestHandler, application

        patch_moto()
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        services = (
            CloudFormationApi(CloudFormation(self.clients)),
            FsxApi(FileSystems(self.clients)),
            SageMakerApi(Clusters(self.clients, platform)),
        )
        self._server.serve(application(self.account, services), QuietRequestHandler)
