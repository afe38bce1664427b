"""The server that `srun --auto-resume=1` asks about a step that failed.

The other side, and the conversation, is image_files/auto_resume.c. On HyperPod the cluster agent of
the controller answers; here all clusters of a rehearsal have this one.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable

from embedded_aws.cluster import ClusterFailed
from slurmpod.rehearsal.hyperpod.health_agent import HealthAgent, ResumeAction
from slurmpod.rehearsal.nodes.door import Listener
from slurmpod.rehearsal.nodes.errors import MachineFailed

AGENT_PORT = 4001
"""The cluster agent's port on HyperPod; plugstack.conf of the image names it."""


class AutoResumeServer:
    """Answers on a port of the loopback interface until it is closed.

    `agent_of` finds the agent of a node's cluster.
    """

    def __init__(self, agent_of: Callable[[str], HealthAgent | None]) -> None:
        self._agent_of = agent_of
        listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = listening.getsockname()[1]
        """The port on which it listens."""
        self._listener = Listener(listening, self._serve, name="auto-resume")

    def close(self) -> None:
        """Answer nobody new; conversations end with those who began them. May be repeated."""
        self._listener.close()

    def _serve(self, connection: socket.socket) -> None:
        # An srun that ends, by itself or with its node, just goes.
        with connection, contextlib.suppress(OSError, ClusterFailed, MachineFailed):
            lines = connection.makefile("r", encoding="utf-8")
            greeting = lines.readline().split()
            agent = self._agent_of(greeting[2]) if len(greeting) == 3 else None
            if agent is None:
                return
            _, job_id, host = greeting
            since = time.monotonic()
            with agent.steps.step(job_id, host):
                for _ in lines:
                    action = agent.diagnose(job_id, since)
                    connection.sendall(f"JobId={job_id}, ResumeAction={action}\n".encode())
                    if action is ResumeAction.RETRYSTEP:
                        is_back = agent.wait_until_back(job_id)
                        since = time.monotonic()
                        connection.sendall(b"ready\n" if is_back else b"a replacement failed\n")
