"""docs/contributing.md: one of each kind is added to a copy, in the files that the page names."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout_copy import copy_checkout
from tests.golden_files import ROOT

PAGE = ROOT / "docs/contributing.md"
FILE = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)


_REFRESHED_AND_RUN = """\
import sys, pytest
refreshed = pytest.main(["--update-golden", *sys.argv[1:]])
nothing_writes = pytest.ExitCode.NO_TESTS_COLLECTED
sys.exit(refreshed not in (0, nothing_writes) or pytest.main(sys.argv[1:]))
"""


SCHEMA = "tests/programs/test_cli.py::test_the_schema_beside_the_environments_is_fresh"
TEMPLATES = "tests/templates/test_golden.py::test_templates_are_the_reviewed_ones"
REPETITION = [
    f"tests/pure/lifecycle/test_repetition.py::{test}"
    for test in (
        "test_a_second_run_changes_nothing",
        "test_after_a_cut_anywhere_the_next_run_makes_it_good",
        "test_the_question_whether_it_is_done_changes_nothing",
    )
]


class Copy:
    """A copy of this repository in which somebody adds something."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.written: set[str] = set()

    def write(self, file: str, text: str) -> None:
        """Write a new file."""
        path = self._folder / file
        assert not path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.written.add(file)

    def insert(self, file: str, before: str, text: str) -> None:
        """Insert a text into a file, before one that stands there once."""
        path = self._folder / file
        content = path.read_text()
        assert content.count(before) == 1, f"{file} has {content.count(before)} times: {before}"
        path.write_text(content.replace(before, text + before))
        self.written.add(file)

    def read(self, file: str) -> str:
        return (self._folder / file).read_text()

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python on the copy's own modules."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self._folder,
            env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "PYTHONPATH": "."},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def slurmpod(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the copy."""
        return self.python("-c", "from slurmpod.cli.main import main; main()", *arguments)

    def passes(self, *pytest_arguments: str) -> None:
        """Refresh the golden files of some tests, and run them, after one start of Python."""
        done = self.python(
            "-c", _REFRESHED_AND_RUN, "-q", "-p", "no:cacheprovider", *pytest_arguments
        )
        assert done.returncode == 0, done.stdout[-3000:]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One copy for all tests, in which git knows how every file was."""
    folder = tmp_path_factory.mktemp("copy")
    copy_checkout(folder)
    git(folder, "init")
    git(folder, "add", ".")
    return folder


@pytest.fixture
def copy(checkout: Path) -> Copy:
    """The copy without what other tests added."""
    git(checkout, "checkout", "--", ".")
    git(checkout, "clean", "--force", "-d")
    return Copy(checkout)


def git(folder: Path, *command: str) -> None:
    subprocess.run(["git", "-C", folder, *command], check=True, capture_output=True)


def files_on_the_page(heading: str) -> set[str]:
    """Return the files that the page names below a heading."""
    _, _, below = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    return set(FILE.findall(below.partition("\n## ")[0]))


def test_a_field_of_an_environment(copy: Copy) -> None:
    copy.insert(
        "slurmpod/environment/lustre.py",
        "    capacity_gib: Annotated[\n",
        "    imported_file_chunk_size_mib: Annotated[\n"
        "        int | None, FILE_SYSTEM_AGAIN, Field(ge=1, le=512000)\n"
        "    ] = None\n"
        '    """MiB of the pieces in which imported files are striped."""\n\n',
    )
    copy.insert(
        "stacks/storage/lustre_file_system.py",
        "        efa_enabled=settings.efa or None,\n",
        "        imported_file_chunk_size=settings.imported_file_chunk_size_mib,\n",
    )
    copy.insert(
        "environments/examples/data-lake.yaml",
        "    data_repositories:\n",
        "    imported_file_chunk_size_mib: 1024\n",
    )
    assert copy.written == files_on_the_page("A field of an environment")
    copy.passes(
        *("tests/pure/rules/test_environments.py", "tests/pure/changes", "tests/pure/environment"),
        *(SCHEMA, f"{TEMPLATES}[data-lake]", f"{TEMPLATES}[dev]"),
    )
    assert "imported_file_chunk_size_mib" in copy.read("environments/schema.json")
    templates = "tests/cases/golden/templates"
    assert '"ImportedFileChunkSize": 1024' in copy.read(f"{templates}/data-lake/storage.json")
    for unchanged in ("dev/storage.json", "dev/cluster.json"):
        assert copy.read(f"{templates}/{unchanged}") == (ROOT / templates / unchanged).read_text()


def test_a_rule(copy: Copy) -> None:
    """Several cases of other rules have what this one finds, and stay as they are."""
    copy.insert(
        "slurmpod/rules/lustre.py",
        "def _either(values: Iterable[object]) -> str:\n",
        "@LUSTRE.rule(\n"
        '    "LUS-900",\n'
        '    "SSD file systems are PERSISTENT_2",\n'
        '    why="PERSISTENT_1 is the older generation.",\n'
        '    fix="remove the key",\n'
        "    source=CREATE_FILE_SYSTEM,\n"
        ")\n"
        "def _newer_generation(resolved: Resolved) -> Iterator[Finding]:\n"
        "    for each in new_lustre(resolved):\n"
        '        is_older = each.settings.deployment_type == "PERSISTENT_1"\n'
        "        if is_older and each.settings.storage_type is StorageType.SSD:\n"
        '            yield at(each, "deployment_type", "this is the older generation")\n\n\n',
    )
    cases = "tests/cases/rules/lustre.yaml"
    lustre = "storage:\n      lustre:\n        deployment_type"
    assert copy.read(cases).count(f"  good: |\n    {lustre}: PERSISTENT_1\n") > 1
    copy.insert(
        cases,
        "TIE-001:\n",
        "LUS-900:\n"
        f"  bad: |\n    {lustre}: PERSISTENT_1 # <- LUS-900\n"
        f"  good: |\n    {lustre}: PERSISTENT_2\n\n",
    )
    assert copy.written == files_on_the_page("A rule")
    copy.passes("tests/pure/rules/test_documentation.py", "tests/pure/rules/test_registry.py")
    copy.passes(
        "tests/pure/rules/test_cases.py",
        "tests/pure/rules/test_environments.py",
        "-k",
        "LUS or has",
    )
    assert "### LUS-900: SSD file systems are PERSISTENT_2" in copy.read("docs/rules.md")


def test_a_check_of_the_account(copy: Copy) -> None:
    buckets = "slurmpod/preflight/subjects/buckets.py"
    copy.insert(
        buckets,
        "QUESTIONS = (",
        "@dataclass(frozen=True)\n"
        "class Versions:\n"
        '    """Whether a bucket keeps earlier versions of its objects."""\n\n'
        "    are_kept: bool\n\n\n"
        "def _versions(clients: AwsClients, resolved: Resolved) -> dict[str, Versions | None]:\n"
        "    wanted = names.buckets(resolved)\n"
        "    return {name: _versions_in(clients.s3, name) for name in wanted}\n\n\n"
        "def _versions_in(s3: Any, name: str) -> Versions | None:\n"
        '    with suppressed("NoSuchBucket"):\n'
        "        found = s3.get_bucket_versioning(Bucket=name)\n"
        '        return Versions(found.get("Status") == "Enabled")\n'
        "    return None\n\n\n"
        "VERSIONS = Question(\n"
        '    "versions",\n'
        '    "versions in buckets",\n'
        '    ("s3:GetBucketVersioning",),\n'
        '    ("s3",),\n'
        "    _versions,\n"
        "    named=names.buckets,\n"
        ")\n\n\n"
        "@PREFLIGHT.rule(\n"
        '    "PRE-490",\n'
        '    "Buckets keep versions",\n'
        '    why="What a job overwrites is gone without them.",\n'
        '    fix="switch versioning on",\n'
        "    source=S3_GUIDE,\n"
        "    severity=Severity.WARNING,\n"
        ")\n"
        "def _versions_are_kept(resolved: Resolved, facts: Facts) -> Iterator[Finding]:\n"
        "    for name, path in names.buckets(resolved).items():\n"
        "        versions = (facts[VERSIONS] or {}).get(name)\n"
        "        if versions and not versions.are_kept:\n"
        '            yield Finding(path, f"{name} keeps no versions")\n\n\n',
    )
    copy.insert(buckets, "BUCKETS,)\n", "VERSIONS, ")
    copy.insert(
        "tests/cloud/test_preflight.py",
        "def _shut(",
        "def test_versions_in_buckets(account: Account) -> None:\n"
        '    name = "a-versioned-bucket"\n'
        '    mounted = OWN.replace("cluster:", MOUNT.replace(BUCKET, name))\n'
        "    Existing(account.aws).bucket(name)\n"
        '    found = account.finds(mounted, "versions")\n'
        '    assert found["PRE-490"] == f"{name} keeps no versions"\n'
        "    account.aws.s3.put_bucket_versioning(\n"
        '        Bucket=name, VersioningConfiguration={"Status": "Enabled"}\n'
        "    )\n"
        '    assert account.finds(mounted, "versions") == {}\n\n\n',
    )
    assert copy.written == files_on_the_page("A check of the account")
    copy.passes(
        "tests/pure/preflight",
        "tests/pure/permissions/test_documentation.py",
        "tests/cloud/test_preflight.py",
        *("-k", "fresh or versions or each_question or saved"),
    )
    assert "| PRE-490 (warning) | Buckets keep versions |" in copy.read("docs/preflight.md")
    assert "| versions in buckets | `s3:GetBucketVersioning` |" in copy.read("docs/permissions.md")
    assert "Buckets keep versions" in copy.slurmpod("explain", "PRE-490").stdout


def test_a_step(copy: Copy) -> None:
    copy.write(
        "lifecycle_scripts/slurmpod_lifecycle/steps/locked_memory.py",
        '"""Memory that jobs may lock: RDMA does so with the buffers of its messages."""\n\n'
        "from __future__ import annotations\n\n"
        "from collections.abc import Mapping\n\n"
        "from slurmpod_lifecycle.machine import Machine\n"
        "from slurmpod_lifecycle.node import Node, NodeStep\n"
        "from slurmpod_lifecycle.settings import Role\n\n"
        'FILE = "/etc/security/limits.d/slurmpod.conf"\n'
        'LIMITS = "* soft memlock unlimited\\n* hard memlock unlimited\\n"\n\n\n'
        "class LockedMemory(NodeStep):\n"
        '    """Users may lock as much memory as they need."""\n\n'
        '    name = "locked_memory"\n'
        "    roles = frozenset({Role.WORKER})\n"
        "    required = False\n\n"
        "    @classmethod\n"
        "    def applies_to(cls, node: Node) -> bool:\n"
        '        """Return whether the environment asks for it."""\n'
        "        return super().applies_to(node) and node.settings.node.locked_memory\n\n"
        "    @classmethod\n"
        "    def files_without(cls, machine: Machine) -> Mapping[str, str | None]:\n"
        '        """Return that its file goes."""\n'
        "        del machine\n"
        "        return {FILE: None}\n\n"
        "    def is_done(self) -> bool:\n"
        '        """Return whether the limits are there."""\n'
        "        return self.node.machine.read(FILE) == LIMITS\n\n"
        "    def apply(self) -> str:\n"
        '        """Write them."""\n'
        "        self.node.machine.write(FILE, LIMITS)\n"
        '        return "unlimited"\n',
    )
    copy.insert(
        "lifecycle_scripts/slurmpod_lifecycle/steps/__init__.py",
        "    slurmd\n",
        "    locked_memory\n",
    )
    copy.insert(
        "lifecycle_scripts/slurmpod_lifecycle/steps/slurmd.py",
        '        "health_checks",\n',
        '        "locked_memory",\n',
    )
    copy.write(
        "tests/pure/lifecycle/test_locked_memory.py",
        "from dataclasses import replace\n\n"
        "from slurmpod_lifecycle.settings import Role\n"
        "from slurmpod_lifecycle.steps.locked_memory import FILE, LIMITS, LockedMemory\n"
        "from tests.pure.lifecycle.fakes import NODE_OPTIONS, machine_of, node\n\n\n"
        "def test_limits_are_written_where_the_environment_asks_for_them() -> None:\n"
        "    assert not LockedMemory.applies_to(node(Role.WORKER))\n"
        "    worker = node(Role.WORKER, node=replace(NODE_OPTIONS, locked_memory=True))\n"
        "    assert LockedMemory.applies_to(worker)\n"
        "    LockedMemory(worker).apply()\n"
        "    assert machine_of(worker).files[FILE] == LIMITS\n",
    )
    assert copy.written == files_on_the_page("A step of the lifecycle scripts")

    copy.insert(
        "slurmpod/environment/lifecycle.py",
        "    motd: Annotated[",
        "    locked_memory: Annotated[bool, replace(BY_SCRIPTS, less=STAYS)] = False\n"
        '    """Let jobs lock as much memory as they need."""\n\n',
    )
    copy.insert("environments/examples/extended.yaml", "  motd: true\n", "  locked_memory: true\n")
    copy.insert(
        "lifecycle_scripts/slurmpod_lifecycle/settings.py",
        "    motd: bool\n",
        "    locked_memory: bool\n",
    )
    copy.insert(
        "slurmpod/bundle/settings.py",
        "        motd=lifecycle.motd,\n",
        "        locked_memory=lifecycle.locked_memory,\n",
    )
    steps, setting = "A step of the lifecycle scripts", "A setting of a step"
    assert copy.written == files_on_the_page(steps) | files_on_the_page(setting)
    of_the_step = [f"{each}[locked_memory-worker]" for each in REPETITION]
    copy.passes(
        *(
            "tests/pure/bundle/test_golden_bundles.py",
            SCHEMA,
            "tests/pure/rules/test_environments.py",
        ),
        *("tests/pure/environment", "tests/pure/changes/test_changes_page.py"),
        *("tests/pure/lifecycle/test_documentation.py", "tests/pure/lifecycle/test_steps.py"),
        *(
            "tests/pure/lifecycle/test_locked_memory.py",
            "tests/pure/lifecycle/test_switched_off.py",
        ),
        *of_the_step,
    )
    assert "| `locked_memory` | worker |" in copy.read("docs/lifecycle.md")
    bundles = "tests/cases/golden/bundles"
    assert '"locked_memory": true' in copy.read(f"{bundles}/extended/settings.json")
    assert '"locked_memory": false' in copy.read(f"{bundles}/dev/settings.json")


def test_a_recipe(copy: Copy) -> None:
    copy.write(
        "slurmpod/jobs/recipes/greeting.py",
        '"""`greeting`: every node greets."""\n\n'
        "from slurmpod.jobs.recipes.recipe import PYTORCH, SHARED_FOLDER, Parameters, Recipe\n\n\n"
        "class GreetingParameters(Parameters):\n"
        '    """What is said."""\n\n'
        "    times: int = 3\n"
        '    """How often every process greets."""\n\n\n'
        "RECIPE = Recipe(\n"
        '    "greeting",\n'
        '    "a program that greets",\n'
        "    (SHARED_FOLDER, PYTORCH),\n"
        '    program="greet.py",\n'
        '    scripts=("measurement.sbatch", "step.sh"),\n'
        "    parameters=GreetingParameters,\n"
        ")\n",
    )
    copy.insert("slurmpod/jobs/recipes/registry.py", "    own_program\n", "    greeting\n")
    copy.write(
        "templates/jobs/greeting/greet.py",
        "import argparse\n\n"
        "parser = argparse.ArgumentParser()\n"
        'parser.add_argument("--times", type=int, required=True)\n'
        'print("hello " * parser.parse_args().times)\n',
    )
    copy.insert(
        "tests/pure/jobs/test_render.py", '    ("dev", "sweep"),\n', '    ("dev", "greeting"),\n'
    )
    assert copy.written == files_on_the_page("A recipe of a job")
    copy.passes("tests/pure/jobs", "-k", "greeting or fresh")
    assert "--times 3" in copy.read("tests/cases/golden/jobs/dev/greeting/greeting.sbatch")
    assert "| `times` | 3 | How often every process greets. |" in copy.read("docs/jobs.md")


def test_a_stack(copy: Copy) -> None:
    copy.insert(
        "slurmpod/resolve/stacks.py",
        "    cluster: str\n",
        "    greeting: str | None = _stack_if(lambda environment, _: not environment.protected)\n",
    )
    copy.write(
        "stacks/greeting.py",
        '"""The greeting stack: a parameter that greets."""\n\n'
        "from aws_cdk import aws_ssm\n"
        "from constructs import Construct\n\n"
        "from slurmpod.resolve import Resolved\n"
        "from slurmpod_cdk.environment_stack import EnvironmentStack\n\n\n"
        "def greet(scope: Construct, resolved: Resolved) -> None:\n"
        '    """Make the stack where the environment has one."""\n'
        "    if name := resolved.stacks.greeting:\n"
        '        stack = EnvironmentStack(scope, name, resolved=resolved, description="Greets")\n'
        '        aws_ssm.StringParameter(stack, "Greeting", string_value="hello")\n',
    )
    copy.insert(
        "stacks/build.py",
        "from slurmpod_cdk.identity.stack import",
        "from slurmpod_cdk.greeting import greet\n",
    )
    copy.insert("stacks/build.py", "    cluster = ClusterStack(\n", "    greet(scope, resolved)\n")
    assert copy.written == files_on_the_page("A stack")
    copy.passes("tests/templates/test_golden.py", "tests/templates/test_app.py", "-k", "dev or p5")
    templates = "tests/cases/golden/templates"
    assert '"Value": "hello"' in copy.read(f"{templates}/dev/greeting.json")
    assert "greeting" not in copy.read(f"{templates}/p5-prod.txt")


def test_a_command(copy: Copy) -> None:
    copy.write(
        "slurmpod/cli/whoami.py",
        '"""`slurmpod whoami`: say who asks."""\n\n'
        "from __future__ import annotations\n\n"
        "import argparse\n\n"
        "from slurmpod.cli.output import say\n"
        "from slurmpod.problems import ExitCode\n\n\n"
        "def add_arguments(parser: argparse.ArgumentParser) -> None:\n"
        '    """Declare what the command takes: nothing."""\n\n\n'
        "def run(_: argparse.Namespace) -> ExitCode:\n"
        '    """Say who asks."""\n'
        '    say("you")\n'
        "    return ExitCode.OK\n",
    )
    copy.insert(
        "slurmpod/cli/commands.py",
        '    "job": Command(',
        '    "whoami": Command("whoami", "Say who asks", True),\n',
    )
    assert copy.written == files_on_the_page("A command")
    done = copy.slurmpod("whoami")
    assert (done.returncode, done.stdout) == (0, "you\n")
    assert "Say who asks" in copy.slurmpod("--help").stdout


def test_a_section_of_the_report(copy: Copy) -> None:
    copy.write("templates/report/greeting.html.j2", "<p>{{ known.resolved.name }} in figures</p>\n")
    copy.insert(
        "slurmpod/report/page.py",
        '    Section("costs", "Costs"),\n',
        '    Section("greeting", "Greeting"),\n',
    )
    assert copy.written == files_on_the_page("A section of the report")
    done = copy.slurmpod("report", "environments/dev.yaml")
    assert done.returncode == 0, done.stdout
    page = copy.read("report.html")
    headings = (">Greeting</h2>", "<p>dev in figures</p>", ">Costs</h2>")
    assert sorted(headings, key=page.index) == list(headings)


def test_a_resource_type_of_the_embedded_aws(copy: Copy) -> None:
    copy.insert(
        "embedded_aws/resources/logs.py",
        "class MetricFilter(ApiResource):\n",
        "class LogStream(ApiResource):\n"
        '    """A stream of a log group that is there; Ref gives its name."""\n\n'
        '    type = "AWS::Logs::LogStream"\n'
        '    supported = frozenset({"LogGroupName", "LogStreamName"})\n'
        "    renamed: ClassVar = {name: lower_camel(name) for name in supported}\n"
        '    service = "logs"\n'
        '    creation, deletion = "create_log_stream", "delete_log_stream"\n'
        '    identity = "logStreamName"\n\n\n',
    )
    assert copy.written == files_on_the_page("A resource type of the embedded AWS")
    copy.passes(
        "tests/pure/embedded_aws/test_schemas.py", "tests/pure/embedded_aws/test_api_resource.py"
    )
    assert '"AWS::Logs::LogStream"' in copy.read("embedded_aws/data/resource_schemas.json")
