"""A copy that uses the fast way if possible, and reports why if not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from slurmpod.operations.copying.carriers import BucketCarrier, Carrier, NotCarried, SessionCarrier
from slurmpod.operations.copying.copy_job import Comparison, NotFetched, compare, copy_job
from slurmpod.operations.job_folder import JobFolder
from slurmpod.operations.node_shell import NodeShell
from slurmpod.problems import WorkFailed

Copied = TypeVar("Copied")


@dataclass
class Copier:
    """One job, its way to the cluster, and the receiver of messages.

    `bucket` is None if the environment has none that its nodes read.
    """

    shell: NodeShell
    job: JobFolder
    bucket: BucketCarrier | None
    tell: Callable[[str], None]

    def compare(self) -> Comparison:
        """Find out what the cluster lacks; raises WorkFailed."""
        return self._by_either(lambda carrier: compare(self.shell, self.job, carrier))

    def copy(self, known: Comparison) -> None:
        """Copy it; raises WorkFailed, and the next call continues."""
        self._by_either(lambda carrier: copy_job(self.shell, self.job, known, carrier))

    def _by_either(self, work: Callable[[Carrier], Copied]) -> Copied:
        if not self.bucket:
            return work(SessionCarrier())
        try:
            done = work(self.bucket)
        except NotFetched as refused:
            reason = f"the role of the nodes needs {self.bucket.needs}: {refused}"
        except NotCarried as refused:
            reason = str(refused)
        else:
            self._clear(self.bucket)
            return done
        self.tell(f"{reason}\nthe files go through sessions, which takes longer")
        self._clear(self.bucket)
        self.bucket = None
        return work(SessionCarrier())

    def _clear(self, bucket: BucketCarrier) -> None:
        try:
            bucket.clear()
        except WorkFailed as refused:
            self.tell(f"{refused}; the uploaded files stay there")
