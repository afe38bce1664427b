"""The embedded AWS: one account on one loopback port, which leaves no trace when it is closed."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from botocore.exceptions import BotoCoreError, ClientError
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from embedded_aws.clients import Clients
from embedded_aws.cloud_control import CloudControlApi
from embedded_aws.cloudformation.api import CloudFormationApi
from embedded_aws.cloudformation.engine import CloudFormation
from embedded_aws.fsx.api import FsxApi
from embedded_aws.fsx.associations import Associations
from embedded_aws.fsx.file_systems import FileSystems
from embedded_aws.grafana.api import GrafanaApi
from embedded_aws.grafana.http_api import GrafanaServer
from embedded_aws.grafana.workspaces import Workspaces as GrafanaWorkspaces
from embedded_aws.ids import ids
from embedded_aws.interface import (
    NO_INSTANCE_TYPES,
    NO_QUOTAS,
    ClusterPlatform,
    InstanceTypes,
    Quotas,
    Workspaces,
)
from embedded_aws.isolation import (
    isolated_environment,
    process_environment,
    variables,
)
from embedded_aws.moto_setup import (
    forget_everything,
    moto_settings,
    patch_moto,
    require_moto_version,
)
from embedded_aws.sagemaker.api import SageMakerApi
from embedded_aws.sagemaker.clusters import Clusters
from embedded_aws.service_descriptions import read_once

if TYPE_CHECKING:
    from botocore.awsrequest import AWSPreparedRequest, AWSResponse

    from embedded_aws.direct_calls import DirectCalls

_HOST = "127.0.0.1"
_one_per_process = threading.Lock()


class AlreadyRunning(Exception):
    """An embedded AWS already runs in this process; moto's services exist once per process."""


class EmbeddedAws:
    """An AWS of one account; `region` is the default Region of tools.

    The port is reserved immediately, so that `endpoint` is known before the server starts. The same
    `seed` and the same calls yield the same ids. `quotas` are values that differ from AWS's
    defaults. `instance_types` are facts used to check cluster requests; `node_host` is the name at
    which cluster nodes reach this computer. Raises PortInUse or WrongMotoVersion.
    """

    def __init__(
        self,
        *,
        account: str,
        region: str,
        port: int | None = None,
        seed: str | None = None,
        instance_types: InstanceTypes = NO_INSTANCE_TYPES,
        node_host: str = _HOST,
        quotas: Quotas = NO_QUOTAS,
    ) -> None:
        require_moto_version()
        read_once()
        self.account = account
        self.region = region
        self._server = LoopbackServer(port)
        self._open = ExitStack()
        self._open.callback(self._server.close)
        self._seed = seed
        self._instance_types = instance_types
        self._node_host = node_host
        self._quotas = quotas
        self._clients: dict[str, Clients] = {}
        self._clients_lock = threading.Lock()
        self._direct_calls: DirectCalls | None = None

    @property
    def port(self) -> int:
        """The port of the loopback interface that serves all services."""
        return self._server.port

    @property
    def endpoint(self) -> str:
        """The URL of every service, such as `http://127.0.0.1:41234`.

        It has an address instead of a name, because SDKs would prefix a name with that of the
        bucket, and few machines resolve *.localhost.
        """
        return f"http://{_HOST}:{self.port}"

    def environment(self) -> dict[str, str]:
        """Return the variables that point AWS tools here.

        Give subprocesses `isolated_environment(os.environ, aws.environment())`, which also removes
        the AWS variables of the user's environment.
        """
        return variables(endpoint=self.endpoint, account=self.account, region=self.region)

    def start(self, platform: ClusterPlatform, workspaces: Workspaces | None = None) -> None:
        """Start the server, with clusters created by `platform`; raises AlreadyRunning.

        Without `workspaces`, no server answers at the addresses of Prometheus workspaces.

        From now on this process is isolated, too: its environment points only here.
        """
        if not _one_per_process.acquire(blocking=False):
            raise AlreadyRunning("An embedded AWS is already running in this process: close() it")
        self._open.callback(_one_per_process.release)
        isolated = isolated_environment(os.environ, self.environment() | moto_settings())
        self._open.enter_context(process_environment(isolated))
        ids.seed(self._seed)
        forget_everything()
        self._open.callback(forget_everything)
        self._serve(platform, workspaces)
        self._open.callback(WarmUp(self.clients()).close)

    def close(self) -> None:
        """Stop the server and delete all state; may be called again."""
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
        """Return boto3 clients of the embedded AWS, by default in its Region."""
        region = region or self.region
        with self._clients_lock:
            if region not in self._clients:
                self._clients[region] = Clients(
                    endpoint=self.endpoint,
                    account=self.account,
                    region=region,
                    node_endpoint=f"http://{self._node_host}:{self.port}",
                    answer=self._answer_directly,
                )
            return self._clients[region]

    def _answer_directly(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse | None:
        """Answer requests of this process directly, but not before the start or after the end."""
        calls = self._direct_calls
        return calls.answer(request) if calls else None

    def _answer_no_longer(self) -> None:
        self._direct_calls = None

    def _serve(self, platform: ClusterPlatform, workspaces: Workspaces | None) -> None:
        # moto takes 0.3 s to import and reads the environment when it is
        from embedded_aws.application import QuietRequestHandler, application
        from embedded_aws.data_channels import DataChannels
        from embedded_aws.direct_calls import DirectCalls
        from embedded_aws.enforcement import simulation
        from embedded_aws.enforcement.callers import Identities
        from embedded_aws.enforcement.endpoints import VpcEndpoints
        from embedded_aws.enforcement.gate import Gate
        from embedded_aws.enforcement.resource_needs import Names
        from embedded_aws.enforcement.simulation import PolicySimulator
        from embedded_aws.functions.invoke import run_functions_of_moto
        from embedded_aws.moto_ids import patch_ids
        from embedded_aws.service_quotas import ServiceQuotasApi
        from embedded_aws.ssm_sessions import SessionManager, serve_with_moto

        patch_moto()
        patch_ids()
        run_functions_of_moto(self.clients)
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        file_systems = FileSystems(self.clients)
        partition = self.clients().partition
        clusters = Clusters(self.clients, platform, instance_types=self._instance_types)
        grafana_workspaces = GrafanaWorkspaces()
        grafana = GrafanaServer(grafana_workspaces)
        self._open.callback(grafana.close)
        services = (
            CloudControlApi(self.clients),
            CloudFormationApi(CloudFormation(self.clients)),
            FsxApi(file_systems, Associations(self.clients, file_systems)),
            GrafanaApi(grafana_workspaces, grafana.address_of),
            SageMakerApi(clusters, platform, self.clients),
            ServiceQuotasApi(self.account, partition, self._quotas),
        )
        sessions = SessionManager(self.account, partition, clusters)
        serve_with_moto(sessions)
        identities = Identities(self.account, partition)
        simulation.serve_with_moto(PolicySimulator(identities, self.account, partition))
        names = Names(self.account, partition, clusters=clusters, sessions=sessions)
        channels = DataChannels(sessions)
        gate = Gate(names, VpcEndpoints(self.account, clusters))
        answer = application(self.account, services, gate, channels, workspaces)
        self._server.serve(answer, QuietRequestHandler)
        self._direct_calls = DirectCalls(answer)
        self._open.callback(self._answer_no_longer)


_BACKLOG = 128


class PortInUse(Exception):
    """The requested port is taken."""


class LoopbackServer:
    """Holds a port of 127.0.0.1 from the start; by default a free one that the kernel chooses."""

    def __init__(self, port: int | None) -> None:
        self._socket = _bind(port)
        self._server: BaseWSGIServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """The port's number."""
        return int(self._socket.getsockname()[1])

    def serve(self, application: Any, handler: type[WSGIRequestHandler]) -> None:
        """Start to serve a WSGI application, with a separate thread for each request."""
        self._server = make_server(
            _HOST,
            self.port,
            application,
            threaded=True,
            request_handler=handler,
            fd=self._socket.fileno(),
        )
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="embedded-aws", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop the server and free the port."""
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
        self._socket.close()


def _bind(port: int | None) -> socket.socket:
    try:
        return socket.create_server((_HOST, port or 0), backlog=_BACKLOG)
    except OSError as error:
        raise PortInUse(
            f"Port {port} of {_HOST} is not free ({error.strerror}). "
            "Choose another port, omit it to use any free one, or stop the program that "
            f"uses it; `ss -ltnp sport = :{port}` shows which."
        ) from error


class WarmUp:
    """Calls one operation of every such service, in the background, once in a process."""

    _is_done = threading.Event()

    def __init__(self, aws: Clients) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(aws,), name="warm-up", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop after the current call.

        A service must not load after this process is no longer isolated: it would read the user's
        profile.
        """
        self._ended.set()
        self._thread.join()

    def _run(self, aws: Clients) -> None:
        if self._is_done.is_set():
            return
        with contextlib.suppress(BotoCoreError, ClientError):
            for call in _calls(aws):
                if self._ended.is_set():
                    return
                call()
            self._is_done.set()


def _calls(aws: Clients) -> Iterator[Callable[[], object]]:
    yield aws.ec2.describe_vpcs
    yield aws.iam.list_roles
    yield aws.s3.list_buckets
    yield aws.service("ssm").describe_parameters
    yield aws.service("ecr").describe_repositories
    yield aws.service("lambda").list_functions
    yield aws.logs.describe_log_groups
