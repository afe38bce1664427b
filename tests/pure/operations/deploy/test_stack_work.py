"""What a command of the CDK says that fails."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from slurmpod.operations.deploy.cdk import CdkFailed
from slurmpod.operations.deploy.stack_work import StacksFailed, StackWork
from slurmpod.operations.progress import Progress
from tests.pure.cli.test_protection import environment


class TestFailure:
    """A command of the CDK that fails."""

    @pytest.fixture
    def work(self, tmp_path: Path) -> StackWork:
        stacks = [
            SimpleNamespace(name="dev-cluster", status="ROLLBACK_COMPLETE", failure="no room")
        ]
        live = SimpleNamespace(stacks=lambda: stacks)
        return StackWork(
            tmp_path / "dev.yaml",
            environment(2),
            tmp_path,
            live,  # type: ignore[arg-type]
            None,  # type: ignore[arg-type]
            Progress(),
        )

    @pytest.mark.parametrize(
        ("said", "told"),
        [
            ("dev-cluster failed: ...", "dev-cluster: no room\n"),
            ("AccessDenied: sts:AssumeRole", "AccessDenied: sts:AssumeRole\n"),
            ("Please run 'cdk bootstrap'", "npx cdk bootstrap -c env="),
            ("TerminationProtection is enabled", "'protected: false' first: slurmpod deploy "),
        ],
    )
    def test_is_told_with_its_reason_and_where_all_of_it_is(
        self, work: StackWork, said: str, told: str
    ) -> None:
        class Run:
            """A command that fails."""

            def __enter__(self) -> None: ...
            def __exit__(self, *_: object) -> None: ...
            def wait(self, *_: object) -> None:
                raise CdkFailed(said)

        with pytest.raises(StacksFailed) as failed:
            work.run("stacks deployed", Run())  # type: ignore[arg-type]
        assert told in str(failed.value)
        assert str(work.folder) in str(failed.value)
