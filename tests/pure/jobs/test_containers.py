"""Jobs in containers: what is started and seen there, and where that is refused."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from slurmpod.cli.main import run
from slurmpod.jobs.allocation import JobRefused, allocation_for
from slurmpod.jobs.containers import EFA_IN_CONTAINER
from slurmpod.jobs.image_import import import_job
from slurmpod.jobs.recipes.recipe import Place
from slurmpod.jobs.recipes.registry import RECIPES
from slurmpod.jobs.render import Job, render_job
from slurmpod.problems import ExitCode
from slurmpod.resolve import Resolved
from tests.pure.jobs.test_render import check, parameters_of, resolved_of
from tests.sound_environment import SOUND

NVCR = "nvcr.io/nvidia/pytorch:25.06-py3"
ECR = "123456789012.dkr.ecr.us-west-2.amazonaws.com"
FILE = "/fsx/images/pytorch.sqsh"

ENROOT = """\
#!/bin/bash
echo "enroot $*" >>"$RECORD"
case $1 in
    import) touch "$3"; [[ ! -e $ENROOT_CONFIG_PATH/.credentials ]] || echo found >>"$RECORD" ;;
    start) exit "${STATUS:-0}" ;;
esac
"""


@pytest.fixture(scope="module")
def with_containers() -> Resolved:
    return resolved_of("examples/closed-network")


def in_container(resolved: Resolved, recipe: str, image: str, folder: str | None = None) -> Job:
    place = Place(resolved, allocation_for(resolved, group=None, partition=None, nodes=None))
    chosen = parameters_of(recipe, place)
    return render_job(RECIPES[recipe], place, chosen, name=recipe, folder=folder, image=image)


@pytest.mark.parametrize("image", [NVCR, f"{ECR}/train:2", FILE])
def test_every_recipe_that_can_runs_in_a_container(
    image: str, with_containers: Resolved, tmp_path: Path
) -> None:
    for name, recipe in RECIPES.items():
        if not recipe.why_no_container and not recipe.instance_types:
            job = in_container(with_containers, name, image)
            check(job, with_containers, tmp_path)
            scripts = [job.files[each] for each in ("step.sh", "container.sh") if each in job.files]
            scripts += [text for file, text in job.files.items() if file.endswith(".sbatch")]
            assert any(b"bash container.sh " in text for text in scripts), name
            assert not any(b"--container-image" in text for text in scripts)


def test_a_job_without_a_container_knows_nothing_of_it(with_containers: Resolved) -> None:
    place = Place(
        with_containers, allocation_for(with_containers, group=None, partition=None, nodes=None)
    )
    chosen = parameters_of("own-program", place)
    job = render_job(RECIPES["own-program"], place, chosen, name="mine", folder=None)
    files = {name for name in job.files if not name.startswith("slurmpod_watch/")}
    assert files == {"mine.sbatch", "secrets.sh", "step.sh"}
    assert not any(b"container.sh" in text for text in job.files.values())


class Node:
    """Runs scripts of a job in its folder, where enroot is a stand-in that records."""

    def __init__(self, folder: Path) -> None:
        self.job, self.record = folder / "job", folder / "record.txt"
        (folder / "bin").mkdir()
        (folder / "bin" / "enroot").write_text(ENROOT)
        (folder / "bin" / "enroot").chmod(0o755)
        self.variables = {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "RECORD": str(self.record),
            "SLURM_JOB_ID": "7",
            "SLURM_JOB_NAME": "mine",
            "PYTHONPATH": "/home",
        }

    def write(self, job: Job) -> None:
        for name, text in job.files.items():
            (self.job / name).parent.mkdir(parents=True, exist_ok=True)
            (self.job / name).write_text(text.decode().replace("/fsx/ubuntu/mine", str(self.job)))

    def run(self, *command: str, **variables: str) -> int:
        environment = self.variables | variables
        return subprocess.run(command, cwd=self.job, env=environment).returncode

    def calls(self) -> list[str]:
        return self.record.read_text().splitlines() if self.record.exists() else []


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def mine(resolved: Resolved, image: str) -> Job:
    return in_container(resolved, "own-program", image, "/fsx/ubuntu/mine")


def test_a_command_gets_the_variables_of_the_job_and_all_shared_storage(
    node: Node, with_containers: Resolved
) -> None:
    node.write(mine(with_containers, FILE))
    assert node.run("bash", "container.sh", "python3", "-m", "x y", FI_PROVIDER="efa") == 0
    create, start, remove = node.calls()
    assert create == f"enroot create --force --name mine-7 {FILE}"
    assert start.startswith("enroot start --rw --rc inside.sh ")
    for path in ("/fsx", "/var/log/aws/clusters"):
        assert f" --mount {path}:{path}:none:x-create=dir,rbind " in start
    assert " --env FI_PROVIDER " in start
    assert " --env PATH " not in start
    assert " --env PYTHONPATH " not in start
    assert start.endswith(" mine-7 python3 -m x y")
    assert remove == "enroot remove --force mine-7"


def test_a_command_that_fails_fails_the_job_and_leaves_no_container(
    node: Node, with_containers: Resolved
) -> None:
    node.write(mine(with_containers, FILE))
    assert node.run("bash", "container.sh", "false", STATUS="3") == 3
    assert node.calls()[-1] == "enroot remove --force mine-7"


def test_a_command_runs_in_the_folder_of_the_job(node: Node, with_containers: Resolved) -> None:
    node.write(mine(with_containers, FILE))
    assert node.run("sh", "inside.sh", "sh", "-c", 'test "$PWD" = "$0"', str(node.job)) == 0


def test_modules_of_the_job_come_before_those_of_the_image(
    node: Node, with_containers: Resolved
) -> None:
    node.write(mine(with_containers, FILE))
    shown = ["sh", "-c", 'test "$PYTHONPATH" = "$0"', f"{node.job}:/image"]
    assert node.run("sh", "inside.sh", *shown, PYTHONPATH="/image") == 0


@pytest.fixture
def efa(node: Node, with_containers: Resolved, tmp_path: Path) -> Path:
    """What a container sees of its node's EFA, for a job on nodes that have it; still nothing."""
    job = mine(with_containers, FILE)
    assert f" in_container={EFA_IN_CONTAINER}\n".encode() in job.files["container.sh"]
    node.write(job)
    inside = node.job / "inside.sh"
    inside.write_text(inside.read_text().replace(EFA_IN_CONTAINER, str(tmp_path / "efa")))
    (tmp_path / "bin" / "ldconfig").write_text("#!/bin/sh\necho 'libc.so.6 => /lib/libc.so.6'\n")
    (tmp_path / "bin" / "ldconfig").chmod(0o755)
    return tmp_path / "efa"


LIBRARIES = ["sh", "-c", 'printf %s "${LD_LIBRARY_PATH:-}" >libraries']
BETWEEN_NODES = {"NCCL_NET": "AWS Libfabric"}


def test_an_image_without_the_plugin_for_efa_gets_that_of_the_node(node: Node, efa: Path) -> None:
    plugin = efa / "ofi-nccl" / "lib" / "x86_64-linux-gnu" / "libnccl-net.so"
    plugin.parent.mkdir(parents=True)
    plugin.touch()
    assert node.run("sh", "inside.sh", *LIBRARIES, LD_LIBRARY_PATH="/a", **BETWEEN_NODES) == 0
    assert (node.job / "libraries").read_text() == f"{plugin.parent}:{efa}/efa/lib:/a"


@pytest.mark.usefixtures("efa")
def test_without_the_plugin_for_efa_a_job_between_nodes_ends_before_it_trains(
    node: Node, capfd: pytest.CaptureFixture[str]
) -> None:
    assert node.run("sh", "inside.sh", "touch", "trained", **BETWEEN_NODES) == 1
    assert "has AWS's NCCL plugin (libnccl-net.so), without" in capfd.readouterr().err
    assert not (node.job / "trained").exists()


@pytest.mark.usefixtures("efa")
def test_a_job_on_one_node_needs_no_plugin_for_efa(node: Node) -> None:
    assert node.run("sh", "inside.sh", "true") == 0


@pytest.mark.usefixtures("efa")
def test_an_image_with_the_plugin_for_efa_keeps_its_own(node: Node, tmp_path: Path) -> None:
    own = tmp_path / "image lib"
    own.mkdir()
    (own / "libnccl-net-ofi.so").touch()
    paths = f"/a:{own}"
    assert node.run("sh", "inside.sh", *LIBRARIES, LD_LIBRARY_PATH=paths, **BETWEEN_NODES) == 0
    assert (node.job / "libraries").read_text() == paths
    known = tmp_path / "bin" / "ldconfig"
    known.write_text(
        "#!/bin/sh\necho 'libnccl-net.so => /opt/amazon/ofi-nccl/lib/libnccl-net.so'\n"
    )
    assert node.run("sh", "inside.sh", *LIBRARIES, LD_LIBRARY_PATH="/a", **BETWEEN_NODES) == 0
    assert (node.job / "libraries").read_text() == "/a"


@pytest.mark.parametrize(
    ("image", "uri"),
    [
        (NVCR, "docker://nvcr.io#nvidia/pytorch:25.06-py3"),
        ("ubuntu:24.04", "docker://ubuntu:24.04"),
        (f"{ECR}/train:2", f"docker://{ECR}#train:2"),
    ],
)
def test_an_image_is_fetched_once(
    image: str, uri: str, node: Node, with_containers: Resolved
) -> None:
    job = mine(with_containers, image)
    node.write(job)
    script = job.files["own-program.sbatch"].decode().partition("\npython3 slurmpod_watch/")[0]
    (node.job / "fetch.sh").write_text(script.replace("/fsx/ubuntu/mine", str(node.job)))
    for _ in range(2):
        assert node.run("bash", "fetch.sh") == 0
    fetched, *more = node.calls()
    assert fetched == f"enroot import --output {node.job}/image.7.part {uri}"
    assert more == (["found"] if image.startswith(ECR) else [])
    assert len(list(node.job.glob("*.sqsh"))) == 1


def test_the_token_for_ecr_is_asked_for_when_it_is_used(with_containers: Resolved) -> None:
    text = mine(with_containers, f"{ECR}/train:2").files["enroot/.credentials"].decode()
    token = "$(aws ecr get-login-password --region us-west-2)"
    assert text == f"machine {ECR} login AWS password {token}\n"


@pytest.mark.parametrize(
    ("recipe", "image", "message", "fix"),
    [
        ("check-nodes", NVCR, "runs in no container: it looks at the nodes", "leave"),
        ("own-program", "/fsx/image", "'/fsx/image' is no file of an image", "ends in .sqsh"),
        ("own-program", "/home/x.sqsh", "is on no file system that all nodes share", "/fsx"),
        ("own-program", "My Image", "'My Image' names no image", "nvcr.io/nvidia/pytorch"),
    ],
)
def test_what_is_no_image_is_refused(
    recipe: str, image: str, message: str, fix: str, with_containers: Resolved
) -> None:
    with pytest.raises(JobRefused, match=message) as caught:
        in_container(with_containers, recipe, image)
    assert fix in caught.value.fix


def test_nodes_without_containers_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dev.yaml").write_text(SOUND)
    command = ["job", "render", str(tmp_path / "dev.yaml"), "own-program"]
    assert run([*command, "--container-image", NVCR]) == ExitCode.USAGE
    said = capsys.readouterr().err
    assert "have no enroot, which starts nvcr.io/nvidia/pytorch:25.06-py3\n  fix: write " in said
    assert "containers: true under lifecycle" in said


class TestImport:
    def job(self, resolved: Resolved, source: str = NVCR) -> Job:
        place = Place(resolved, allocation_for(resolved, group=None, partition=None, nodes=1))
        return import_job(source, place, name="mine", folder="/fsx/ubuntu/mine")

    def test_an_image_is_imported_once_and_held_against_its_digest(
        self, node: Node, with_containers: Resolved, tmp_path: Path
    ) -> None:
        job = self.job(with_containers)
        check(job, with_containers, tmp_path)
        assert set(job.files) == {"mine.sbatch", "secrets.sh"}
        node.write(job)
        for _ in range(2):
            assert node.run("bash", "mine.sbatch") == 0
        assert len(node.calls()) == 1
        (image,) = node.job.glob("*.sqsh")
        assert image.with_name(f"{image.name}.sha256").read_text().endswith(f"  {image}\n")
        image.write_text("another one")
        assert node.run("bash", "mine.sbatch") == 1

    def test_the_token_for_ecr_comes_along(self, with_containers: Resolved) -> None:
        other = "210987654321.dkr.ecr.us-west-2.amazonaws.com"
        job = self.job(with_containers, f"docker://{other}#train:2")
        assert b"get-login-password" in job.files["enroot/.credentials"]
        assert f"docker://{other}#train:2".encode() in job.files["mine.sbatch"]

    @pytest.mark.parametrize(
        ("source", "message"),
        [
            ("./Dockerfile", "'./Dockerfile' is no image of a registry"),
            ("/fsx/a.sqsh", "'/fsx/a.sqsh' is no image of a registry"),
            ("Not An Image", "'Not An Image' names no image"),
            (f"{ECR}/secret:2", "nodes may not pull secret"),
        ],
    )
    def test_what_cannot_be_imported_is_refused(
        self, source: str, message: str, with_containers: Resolved
    ) -> None:
        with pytest.raises(JobRefused, match=message):
            self.job(with_containers, source)
