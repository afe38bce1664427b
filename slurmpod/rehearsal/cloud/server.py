"""The embedded AWS: one account on one loopback port, gone without a trace when it is closed."""

from __future__ import annotations

import logging
import os
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from slurmpod.rehearsal.cloud.clients import Clients
from slurmpod.rehearsal.cloud.cloud_control import CloudControlApi
from slurmpod.rehearsal.cloud.cloudformation.api import CloudFormationApi
from slurmpod.rehearsal.cloud.cloudformation.engine import CloudFormation
from slurmpod.rehearsal.cloud.fsx.api import FsxApi
from slurmpod.rehearsal.cloud.fsx.associations import Associations
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
from slurmpod.rehearsal.cloud.sagemaker.node_operations import NodeOperations
from slurmpod.rehearsal.cloud.warm_up import warm_up

if TYPE_CHECKING:
    from types import TracebackType

    from slurmpod.rehearsal.cloud.platform import ClusterPlatform
    from slurmpod.rehearsal.prometheus_servers import PrometheusServers

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
    def port(self) -> int:
        """The port of this computer's loopback interface at which all services answer."""
        return self._server.port

    @property
    def endpoint(self) -> str:
        """The address of every service, such as `http://localhost:41234`.

        The name matters: SDKs put bucket names in front of it, and *.localhost is this machine.
        """
        return f"http://localhost:{self.port}"

    def environment(self) -> dict[str, str]:
        """Return the variables that lead AWS tools here.

        Give subprocesses `isolated_environment(os.environ, aws.environment())`: what the user's
        own environment says about AWS has to go, too.
        """
        return variables(endpoint=self.endpoint, account=self.account, region=self.region)

    def start(self, platform: ClusterPlatform, prometheus: PrometheusServers | None = None) -> None:
        """Begin to answer, with clusters made by `platform`; raises AlreadyRunning.

        Without `prometheus` there is nothing behind the addresses of Prometheus workspaces.

        From now on this process is isolated, too: its environment leads nowhere but here.
        """
        if not _one_per_process.acquire(blocking=False):
            raise AlreadyRunning("An embedded AWS is already running in this process: close() it")
        self._open.callback(_one_per_process.release)
        isolated = isolated_environment(os.environ, self.environment() | moto_settings())
        self._open.enter_context(process_environment(isolated))
        forget_everything()
        self._open.callback(forget_everything)
        self._serve(platform, prometheus)
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

    def _serve(self, platform: ClusterPlatform, prometheus: PrometheusServers | None) -> None:
        # moto takes 0.3 s to import and looks at the environment when it is
        from slurmpod.rehearsal.cloud.application import QuietRequestHandler, application
        from slurmpod.rehearsal.cloud.enforcement.gate import Gate
        from slurmpod.rehearsal.cloud.enforcement.names import Names
        from slurmpod.rehearsal.cloud.ssm_sessions import SessionManager, serve_with_moto

        patch_moto()
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        file_systems = FileSystems(self.clients)
        clusters = Clusters(self.clients, platform)
        services = (
            CloudControlApi(self.clients),
            CloudFormationApi(CloudFormation(self.clients)),
            FsxApi(file_systems, Associations(self.clients, file_systems)),
            SageMakerApi(clusters, NodeOperations(clusters, platform)),
        )
        partition = self.clients().partition
        sessions = SessionManager(self.account, partition, clusters)
        serve_with_moto(sessions)
        names = Names(self.account, partition, clusters=clusters, sessions=sessions)
        answer = application(self.account, services, Gate(names), prometheus)
        self._server.serve(answer, QuietRequestHandler)
