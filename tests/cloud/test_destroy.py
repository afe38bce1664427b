"""A deployed environment: what `slurmpod diff` says of it, and what survives `cdk destroy`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.server import EmbeddedAws
from tests.cloud.cdk_account import ACCOUNT, REGION, Account
from tests.cloud.configuration_repository import Repository, workflow
from tests.golden_files import ROOT

ABOVE_THE_NETWORK = ("dev-cluster", "dev-identity", "dev-lifecycle", "dev-storage")
PROGRAMS = Path(sys.executable).parent
BUCKET = "sagemaker-dev-123456789012-us-west-2"


@dataclass(frozen=True)
class Life:
    """An account, the repository of configurations beside it, and what its workflow printed."""

    account: Account
    repository: Repository
    printed: Mapping[str, str]


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    """The environment, deployed as docs/configuration-repository.md says."""
    repository = Repository.make(tmp_path_factory.mktemp("repository"))
    home = tmp_path_factory.mktemp("home")
    with EmbeddedAws(account=ACCOUNT, region=REGION) as aws:
        aws.start(CloudOnlyPlatform())
        assembly = home / f"deployments/{ACCOUNT}-{REGION}-dev/cdk.out"
        account = Account(aws, assembly, home=home)
        account.cdk("bootstrap", "-c", "env=dev")  # as the README prints it
        variables = {**account.variables, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
        printed = {}
        for job in workflow()["jobs"]:
            printed.update(repository.run(job, variables))
        yield Life(account, repository, printed)


@pytest.fixture(scope="module")
def deployed(life: Life) -> Account:
    return life.account


@pytest.fixture(scope="module")
def destroyed(life: Life) -> Account:
    """The same, destroyed from another folder of the repository."""
    command = ("destroy", "../environments/dev.yaml")
    result = life.account.slurmpod(
        *command, cwd=life.repository.folder / "elsewhere", answer="dev\n"
    )
    assert result.returncode == 0, result.stderr
    assert f"stacks to delete, in this order: {', '.join(ABOVE_THE_NETWORK)}\n" in result.stdout
    assert "dev-network is left; delete its contents first" in result.stderr
    assert result.stderr.endswith("next: slurmpod destroy ../environments/dev.yaml\n")
    return life.account


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., str]:
    def change(*replacements: tuple[str, str]) -> str:
        text = (ROOT / "environments" / "dev.yaml").read_text()
        for old, new in replacements:
            assert text.count(old) == 1
            text = text.replace(old, new)
        (tmp_path / "dev.yaml").write_text(text)
        return str(tmp_path / "dev.yaml")

    return change


class TestWorkflow:
    """The shell steps of docs/configuration-repository.md."""

    def test_a_pull_request_gets_the_plan_as_a_comment(self, life: Life) -> None:
        assert "gh pr comment 7 --body-file comment.md\n" in life.repository.calls
        comment = (life.repository.folder / "comment.md").read_text()
        assert comment.startswith("```\ndev: resources and cost in account 123456789012")

    def test_rehearses_before_it_deploys(self, life: Life) -> None:
        assert list(workflow()["jobs"]) == ["check", "rehearse", "deploy"]
        assert "slurmpod rehearse environments/dev.yaml\n" in life.repository.calls

    def test_deploys_every_stack(self, life: Life) -> None:
        assert life.account.stacks() >= {*ABOVE_THE_NETWORK, "dev-network"}
        said = next(text for step, text in life.printed.items() if "slurmpod deploy" in step)
        assert "  dev-cluster: CREATE_COMPLETE" in said
        assert said.endswith("next: slurmpod connect environments/dev.yaml\n")


class TestDiff:
    def test_what_is_deployed_does_not_differ(
        self, deployed: Account, changed: Callable[..., str]
    ) -> None:
        result = deployed.slurmpod("diff", changed())
        assert (result.returncode, result.stdout) == (0, "dev: no changes\n")

    def test_what_aws_would_refuse_is_named_with_its_place(
        self, deployed: Account, changed: Callable[..., str]
    ) -> None:
        file = changed(("zone: us-west-2b", "zone: us-west-2c"))
        result = deployed.slurmpod("diff", file)
        assert result.returncode == 1
        assert 'refused: network.zone: "us-west-2b" -> "us-west-2c"' in result.stdout
        assert f"  {file}:" in result.stdout

    def test_a_loss_is_named_and_refused_where_the_environment_is_protected(
        self, deployed: Account, changed: Callable[..., str]
    ) -> None:
        fewer = ("count: 2", "count: 1")
        result = deployed.slurmpod("diff", changed(fewer), "--json")
        (change,) = json.loads(result.stdout)["changes"]
        assert (result.returncode, change["kind"]) == (0, "loses something")
        assert (change["path"], change["old"], change["new"]) == (
            "cluster.groups.workers.count",
            2,
            1,
        )
        protected = ("\nnetwork:", "\nprotected: true\nnetwork:")
        result = deployed.slurmpod("diff", changed(fewer, protected))
        assert (result.returncode, "dev is protected" in result.stderr) == (1, True)

    def test_plain_commands_of_the_cdk_refuse_a_loss_that_is_not_confirmed(
        self, deployed: Account, changed: Callable[..., str]
    ) -> None:
        file = changed(("count: 2", "count: 1"), ("\nnetwork:", "\nprotected: true\nnetwork:"))
        refused = deployed.run_cdk(
            "deploy", "--all", "--require-approval", "never", "-c", f"env={file}"
        )
        assert refused.returncode == 1
        assert "refused: dev is protected" in refused.stdout
        assert "loses something: cluster.groups.workers.count: 2 -> 1" in refused.stdout
        assert (
            len(
                deployed.client("sagemaker").list_cluster_nodes(ClusterName="dev")[
                    "ClusterNodeSummaries"
                ]
            )
            == 4
        )

    def test_a_plan_says_the_same(self, deployed: Account, changed: Callable[..., str]) -> None:
        result = deployed.slurmpod("plan", changed(("count: 2", "count: 1")), "--deployed")
        assert result.returncode == 0, result.stderr
        assert "workers          1 x ml.m5.xlarge" in result.stdout
        assert "loses something: cluster.groups.workers.count: 2 -> 1" in result.stdout
        assert result.stdout.endswith("dev: 1 change\n")

    def test_an_environment_that_is_not_deployed_is_all_new(
        self, deployed: Account, changed: Callable[..., str]
    ) -> None:
        result = deployed.slurmpod("diff", changed(("name: dev", "name: other")))
        assert (result.returncode, "not deployed" in result.stdout) == (0, True)

    def test_credentials_of_another_account_are_refused(
        self, deployed: Account, changed: Callable[..., str]
    ) -> None:
        result = deployed.slurmpod("diff", changed((ACCOUNT, "210987654321")))
        assert (result.returncode, result.stdout) == (1, "")
        assert f"belong to account {ACCOUNT}" in result.stderr


class TestDestroy:
    def test_removes_the_cluster(self, destroyed: Account) -> None:
        assert destroyed.stacks() == {"CDKToolkit", "dev-network"}
        sagemaker = destroyed.client("sagemaker")
        assert sagemaker.list_clusters()["ClusterSummaries"] == []

    def test_what_was_deployed_is_known_without_the_cluster(
        self, destroyed: Account, changed: Callable[..., str]
    ) -> None:
        result = destroyed.slurmpod("diff", changed())
        assert (result.returncode, result.stdout) == (0, "dev: no changes\n")
        assert "dev has no cluster" in result.stderr
        assert "Remaining stacks: dev-network\n" in result.stderr

    def test_what_only_a_cluster_cannot_change_is_harmless_without_one(
        self, destroyed: Account, changed: Callable[..., str]
    ) -> None:
        protected = ("\nnetwork:", "\nprotected: true\nnetwork:")
        other_name = ("name: workers", "name: hands")
        result = destroyed.slurmpod("diff", changed(other_name, protected), "--json")
        facts = json.loads(result.stdout)
        assert (result.returncode, facts["deployed"], facts["has_cluster"]) == (0, True, False)
        assert {each["path"]: each["kind"] for each in facts["changes"]} == {
            "protected": "in place",
            "cluster.groups.hands": "in place",
            "cluster.groups.workers": "in place",
        }

    def test_what_the_stacks_that_are_left_cannot_change_is_refused(
        self, destroyed: Account, changed: Callable[..., str]
    ) -> None:
        result = destroyed.slurmpod("diff", changed(("zone: us-west-2b", "zone: us-west-2c")))
        assert result.returncode == 1
        assert 'refused: network.zone: "us-west-2b" -> "us-west-2c"' in result.stdout

    def test_keeps_the_file_system(self, destroyed: Account) -> None:
        (file_system,) = destroyed.client("fsx").describe_file_systems()["FileSystems"]
        assert file_system["Lifecycle"] == "AVAILABLE"

    def test_keeps_the_bucket_with_its_bundle(self, destroyed: Account) -> None:
        listed = destroyed.client("s3").list_objects_v2(Bucket=BUCKET, Prefix="lifecycle/")
        assert any(item["Key"].endswith("/on_init_complete.sh") for item in listed["Contents"])

    def test_the_network_stays_as_long_as_the_file_system_is_in_it(
        self, destroyed: Account
    ) -> None:
        destroy_network = ("destroy", "dev-network", "--force")
        failed = destroyed.run_cdk(*destroy_network)
        assert failed.returncode == 1
        assert "Created by Amazon FSx" in failed.stdout

        fsx = destroyed.client("fsx")
        (file_system,) = fsx.describe_file_systems()["FileSystems"]
        fsx.delete_file_system(FileSystemId=file_system["FileSystemId"])
        destroyed.cdk(*destroy_network)
        assert destroyed.stacks() == {"CDKToolkit"}

    def test_nothing_is_deployed_once_all_stacks_are_gone(
        self, destroyed: Account, changed: Callable[..., str]
    ) -> None:
        result = destroyed.slurmpod("diff", changed())
        assert (result.returncode, result.stderr.count("no cluster")) == (0, 0)
        assert result.stdout == "dev is not deployed: everything would be new\n"
