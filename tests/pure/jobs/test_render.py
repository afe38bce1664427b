"""Rendered jobs: the reviewed ones, sound for their cluster, and refused where they cannot run."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from slurmpod.cli.environment import sound_environment
from slurmpod.cli.main import run
from slurmpod.environment.environment import Environment
from slurmpod.jobs.allocation import JobRefused, allocation_for
from slurmpod.jobs.lint import lint
from slurmpod.jobs.recipes.chosen import chosen_parameters
from slurmpod.jobs.recipes.recipe import Parameters, Place
from slurmpod.jobs.recipes.registry import RECIPES
from slurmpod.jobs.recipes.trained import SAVING
from slurmpod.jobs.render import Job, refuse_unsuitable, render_job
from slurmpod.jobs.watcher import watcher_files
from slurmpod.problems import ExitCode
from slurmpod.reading.read import Reading, read_as
from slurmpod.resolve import Resolved, resolve
from tests.golden_files import ROOT, assert_matches
from tests.pure.jobs.cluster import resolved_cluster
from tests.sound_environment import SOUND, sound_data, sound_with

GOLDEN = ROOT / "tests" / "cases" / "golden" / "jobs"
REVIEWED = (
    ("dev", "bert-pipeline"),
    ("dev", "check-nodes"),
    ("dev", "collectives-bench"),
    ("dev", "ddp"),
    ("dev", "fsdp2-hybrid"),
    ("dev", "io-bench"),
    ("dev", "sharded-array"),
    ("dev", "sweep"),
    ("dev", "train-fsdp2"),
    ("p5-prod", "bert-pipeline"),
    ("p5-prod", "check-nodes"),
    ("p5-prod", "collectives-bench"),
    ("p5-prod", "fsdp2-hybrid"),
    ("p5-prod", "pretrain"),
    ("p5-prod", "gpt2-compile"),
    ("p5-prod", "train-fsdp2"),
    ("p5-containers", "smp2-llama"),
    ("trn1-llama2", "own-program"),
    ("trn1-llama2", "trn1-llama2-7b"),
    ("examples/closed-network", "own-program"),
)
"""CPUs, GPUs with EFA, Trainium, and GPUs without NVLink."""

CHOSEN: Mapping[str, Mapping[str, object]] = {"trn1-llama2-7b": {"accept_llama2_license": True}}
"""What a user has to choose of recipes that cannot be rendered without."""

TYPES = ("m5.xlarge", "g5.xlarge", "g5.12xlarge", "g6.12xlarge", "p5en.48xlarge", "trn2.48xlarge")


WITH_CONTAINERS = {"p5-containers": "p5-prod"}
"""Environments with GPUs and containers, which no file has: by the one that they complete."""


def resolved_of(name: str) -> Resolved:
    if name in WITH_CONTAINERS:
        text = (ROOT / "environments" / f"{WITH_CONTAINERS[name]}.yaml").read_text()
        environment = read_as(
            f"{name}.yaml", f"{text}\nlifecycle: {{containers: true}}\n"
        ).environment
        assert environment
        return resolve(Reading(environment))
    return sound_environment(ROOT / "environments" / f"{name}.yaml").resolved


def workers_of_type(*types: str) -> Resolved:
    """Return a cluster with a group of two workers of each type, all in the partition `cpu`."""
    data = sound_data()
    worker = data["cluster"]["groups"].pop()
    data["cluster"]["groups"] += [
        {**worker, "name": f"workers-{number}", "instance_type": f"ml.{name}"}
        for number, name in enumerate(types)
    ]
    return resolve(Reading(Environment.model_validate(data, strict=False)))


def job_for(resolved: Resolved, recipe: str, folder: str | None = None, **choice: str) -> Job:
    chosen = {"group": None, "partition": None, "nodes": None, **choice}
    place = Place(resolved, allocation_for(resolved, **chosen))  # type: ignore[arg-type]
    refuse_unsuitable(RECIPES[recipe], place.allocation)
    parameters = parameters_of(recipe, place)
    return render_job(RECIPES[recipe], place, parameters, name=recipe, folder=folder)


def parameters_of(recipe: str, place: Place) -> Parameters:
    if recipe not in CHOSEN:
        return chosen_parameters(RECIPES[recipe], place, None)
    parameters = RECIPES[recipe].parameters(**CHOSEN[recipe])
    assert list(parameters.mistakes(place)) == []
    return parameters


def step_of(resolved: Resolved) -> str:
    return job_for(resolved, "own-program").files["step.sh"].decode()


def generated(job: Job) -> dict[str, str]:
    """Return the files of a job that are made for its cluster; others are taken as they are."""
    copied = {*job.programs, *(name for name in job.files if "/" in name)}
    return {name: text.decode() for name, text in job.files.items() if name not in copied}


def check(job: Job, resolved: Resolved, folder: Path) -> None:
    """Fail unless the linters find nothing in any script."""
    scripts = {
        name: text for name, text in generated(job).items() if name.endswith((".sbatch", ".sh"))
    }
    for name, text in scripts.items():
        (folder / name).write_text(text)
        assert not name.endswith(".sbatch") or lint(name, text, resolved, scripts.get) == ()
    shellcheck = shutil.which("shellcheck") or "shellcheck"
    files = [str(folder / name) for name in scripts]
    result = subprocess.run(
        [shellcheck, "--external-sources", *files], cwd=folder, capture_output=True, text=True
    )
    assert result.stdout == ""


def golden_folder(name: str, recipe: str) -> Path:
    return GOLDEN / name.rpartition("/")[2] / recipe


@pytest.mark.parametrize(("name", "recipe"), REVIEWED)
def test_rendered_jobs_are_the_reviewed_ones(
    name: str, recipe: str, update_golden: bool, tmp_path: Path
) -> None:
    resolved = resolved_of(name)
    job = job_for(resolved, recipe)
    check(job, resolved, tmp_path)
    for file, text in generated(job).items():
        assert_matches(golden_folder(name, recipe) / file, text, update=update_golden)


def test_every_recipe_is_reviewed_and_nothing_is_left_over() -> None:
    assert {recipe for _, recipe in REVIEWED} == set(RECIPES)
    known = {
        golden_folder(name, recipe) / file
        for name, recipe in REVIEWED
        for file in generated(job_for(resolved_of(name), recipe))
    }
    assert {path for path in GOLDEN.rglob("*") if path.is_file()} == known


@pytest.mark.parametrize("instance_type", TYPES)
def test_jobs_are_sound_on_every_kind_of_node(instance_type: str, tmp_path: Path) -> None:
    resolved = workers_of_type(instance_type)
    for name, recipe in RECIPES.items():
        if not recipe.instance_types or f"ml.{instance_type}" in recipe.instance_types:
            check(job_for(resolved, name), resolved, tmp_path)


@pytest.mark.parametrize(
    ("instance_type", "processes", "threads", "device"),
    [
        ("m5.xlarge", 1, 2, "cpu"),
        ("g5.12xlarge", 4, 6, "cuda"),
        ("p5.48xlarge", 8, 12, "cuda"),
        ("trn2.48xlarge", 64, 1, "neuron"),
    ],
)
def test_there_is_a_process_for_each_accelerator(
    instance_type: str, processes: int, threads: int, device: str
) -> None:
    job = job_for(workers_of_type(instance_type), "train-fsdp2")
    step = job.files["step.sh"].decode()
    assert f"--nproc-per-node={processes} " in step
    assert f"OMP_NUM_THREADS=${{OMP_NUM_THREADS:-{threads}}}\n" in step
    assert f" train.py --device {device} --checkpoints " in job.files[job.script].decode()


def test_modules_are_found_in_the_folders_that_a_user_names(tmp_path: Path) -> None:
    environment, chosen = tmp_path / "dev.yaml", tmp_path / "chosen.yaml"
    environment.write_text(SOUND)
    chosen.write_text("pythonpath: [., src/a b, /fsx/lib]\n")
    command = ["job", "render", str(environment), "own-program", "--out", str(tmp_path / "out")]
    assert run([*command, "--parameters", str(chosen)]) == ExitCode.OK
    step = (tmp_path / "out" / "step.sh").read_text()
    (line,) = (line for line in step.splitlines() if "PYTHONPATH" in line)
    found = subprocess.run(
        ["bash", "-uc", f'{line}; echo "$PYTHONPATH"'],
        env={"PYTHONPATH": "/mine"},
        capture_output=True,
        text=True,
        check=True,
    )
    own = "/fsx/ubuntu/own-program"
    assert found.stdout == f"{own}:{own}/src/a b:/fsx/lib:/mine\n"
    assert (
        "PYTHONPATH" not in job_for(workers_of_type("m5.xlarge"), "ddp").files["step.sh"].decode()
    )


def exports(resolved: Resolved) -> set[str]:
    """Return the variables that a step sets for accelerators and EFA."""
    lines = step_of(resolved).splitlines()
    names = {line.split()[1].partition("=")[0] for line in lines if line.startswith("export ")}
    return names - {"GLOO_SOCKET_IFNAME", "OMP_NUM_THREADS", "PYTHONPATH"}


NCCL = {"NCCL_DEBUG", "NCCL_SOCKET_IFNAME"}


@pytest.mark.parametrize(
    ("instance_type", "names"),
    [
        ("c6i.8xlarge", set()),
        ("p5.48xlarge", NCCL),
        ("g5.xlarge", NCCL),
        ("g5.48xlarge", {*NCCL, "NCCL_SHM_USE_CUDA_MEMCPY"}),
        (
            "trn1.32xlarge",
            {"FI_PROVIDER", "FI_EFA_USE_DEVICE_RDMA", "NEURON_COMPILE_CACHE_URL"},
        ),
    ],
)
def test_variables_are_those_of_the_hardware(instance_type: str, names: set[str]) -> None:
    assert exports(workers_of_type(instance_type)) == names


def test_the_time_is_the_longest_of_the_partition() -> None:
    limits = {"partitions": [{"name": "p5", "max_time": "2-00:00:00", "max_nodes": 3}]}
    resolved = resolved_cluster(limits)
    script = job_for(resolved, "train-fsdp2", group="gpus").files["train-fsdp2.sbatch"].decode()
    assert "#SBATCH --time=2-00:00:00\n" in script
    assert "#SBATCH --nodes=3\n" in script
    assert "#SBATCH --partition=p5\n" in script


def test_the_files_of_a_job_lie_where_the_user_says() -> None:
    job = job_for(workers_of_type("m5.xlarge"), "own-program", folder="/fsx/teams/nlp_2")
    assert job.command == ("sbatch", "/fsx/teams/nlp_2/own-program.sbatch")
    assert b"#SBATCH --chdir=/fsx/teams/nlp_2\n" in job.files[job.script]


def test_nodes_with_the_same_accelerators_are_one_place() -> None:
    place = allocation_for(
        workers_of_type("g5.24xlarge", "g5.12xlarge"), group=None, partition=None, nodes=None
    )
    assert (place.nodes, place.processes, place.threads) == (4, 4, 6)


def test_nodes_of_several_kinds_are_refused() -> None:
    resolved = workers_of_type("g5.12xlarge", "p5.48xlarge")
    with pytest.raises(JobRefused, match=r"several kinds: ml\.g5\.12xlarge, ml\.p5\.48xlarge"):
        job_for(resolved, "train-fsdp2")


def test_a_cluster_without_shared_storage_is_refused() -> None:
    data = sound_data()
    data["storage"]["lustre"] = None
    resolved = resolve(Reading(Environment.model_validate(data, strict=False)))
    with pytest.raises(JobRefused, match="share no file system"):
        job_for(resolved, "train-fsdp2")


def test_recipes_say_where_they_cannot_run() -> None:
    with pytest.raises(JobRefused, match=r"train-fsdp2 cannot run on ml.trn1.32xlarge"):
        job_for(workers_of_type("trn1.32xlarge"), "train-fsdp2")
    with pytest.raises(JobRefused, match=r"cannot run on ml.p5.48xlarge") as caught:
        job_for(workers_of_type("p5.48xlarge"), "trn1-llama2-7b")
    assert caught.value.fix == "choose a partition of ml.trn1.32xlarge or ml.trn1n.32xlarge"


class TestCommand:
    @pytest.fixture
    def environment(self, tmp_path: Path) -> str:
        (tmp_path / "dev.yaml").write_text(SOUND)
        return str(tmp_path / "dev.yaml")

    def test_files_are_written_and_the_next_command_is_named(
        self, environment: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        out = tmp_path / "jobs" / "mine"
        command = ["job", "render", environment, "train-fsdp2", "--name", "mine", "--out", str(out)]
        assert run(command) == ExitCode.OK
        names = sorted([*SAVING, "model.py", "train.py", "mine.sbatch", "secrets.sh", "step.sh"])
        names = sorted([*names, *watcher_files()])
        files = [path for path in out.rglob("*") if path.is_file()]
        assert sorted(str(path.relative_to(out)) for path in files) == names
        shown = capsys.readouterr()
        assert [line.split()[1] for line in shown.out.splitlines()] == names
        assert shown.err.endswith("  sbatch /fsx/ubuntu/mine/mine.sbatch\n")

    def test_programs_that_were_changed_are_kept(
        self, environment: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        command = ["job", "render", environment, "train-fsdp2", "--out", str(tmp_path)]
        assert run(command) == ExitCode.OK
        (tmp_path / "model.py").write_text("mine = True\n")
        capsys.readouterr()
        assert run([*command, "--nodes", "1"]) == ExitCode.OK
        assert (tmp_path / "model.py").read_text() == "mine = True\n"
        assert "#SBATCH --nodes=1\n" in (tmp_path / "train-fsdp2.sbatch").read_text()
        said = capsys.readouterr().err.splitlines()
        kept = [
            line
            for line in said
            if line.endswith("was changed since it was rendered, and is not overwritten")
        ]
        assert kept == [
            f"{tmp_path}/model.py was changed since it was rendered, and is not overwritten"
        ]

    def test_json(self, environment: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["job", "render", environment, "own-program", "--json"]) == ExitCode.OK
        shown = json.loads(capsys.readouterr().out)
        assert shown["script"] == "own-program.sbatch"
        assert shown["folder"] == "/fsx/ubuntu/own-program"
        scripts = ["own-program.sbatch", "secrets.sh", "step.sh"]
        assert sorted(shown["files"]) == sorted([*scripts, *watcher_files()])

    def test_a_training_is_not_watched_where_its_user_does_not_want_it(
        self, environment: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(["job", "render", environment, "own-program", "--json", "--watch", "off"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert sorted(shown["files"]) == ["own-program.sbatch", "secrets.sh", "step.sh"]
        assert "watch" not in str(shown["files"])

    def test_the_watcher_is_told_what_its_user_chose(
        self, environment: str, tmp_path: Path
    ) -> None:
        command = ["job", "render", environment, "own-program", "--out", str(tmp_path)]
        assert run([*command, "--watch", "restart", "--hang-after", "60"]) == ExitCode.OK
        text = (tmp_path / "own-program.sbatch").read_text()
        assert "slurmpod_watch/watch.py --action restart --hang-after 60 -- \\\n    srun " in text
        assert run([*command, "--hang-after", "soon"]) == ExitCode.USAGE

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["train-fsdp"], "unknown recipe 'train-fsdp'\n  fix: did you mean 'train-fsdp2'?"),
            (["train-fsdp2", "--group", "controller"], "there is no worker group 'controller'"),
            (["train-fsdp2", "--partition", "gpu"], "there is no partition 'gpu' (there are: cpu)"),
            (["train-fsdp2", "--nodes", "3"], "partition cpu gives one job 2\n  fix: ask for 1 to"),
            (["train-fsdp2", "--nodes", "0"], "a job of 0 nodes cannot run"),
            (["train-fsdp2", "--name", "a/b"], "'a/b' cannot be the name of a job"),
            (["train-fsdp2", "--folder", "/home/me"], "/home/me is on no file system that all"),
            (["train-fsdp2", "--folder", "/fsx/../tmp"], "'/fsx/../tmp' is no folder for jobs"),
        ],
    )
    def test_what_cannot_be_rendered_is_refused_with_a_way_out(
        self,
        arguments: list[str],
        message: str,
        environment: str,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        assert run(["job", "render", environment, *arguments]) == ExitCode.USAGE
        shown = capsys.readouterr()
        assert message in shown.err
        assert "\n  fix: " in shown.err
        assert shown.out == ""

    def test_a_partition_without_nodes(
        self, environment: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "dev.yaml").write_text(sound_with("count: 2", "count: 0"))
        assert run(["job", "render", environment, "train-fsdp2"]) == ExitCode.USAGE
        assert "gives one job none\n  fix: give the group a higher count" in capsys.readouterr().err

    def test_several_partitions_ask_for_a_choice(self, capsys: pytest.CaptureFixture[str]) -> None:
        file = str(ROOT / "environments" / "examples" / "team-language.yaml")
        assert run(["job", "render", file, "train-fsdp2"]) == ExitCode.USAGE
        assert "several partitions: cpu, gpu\n  fix: choose one" in capsys.readouterr().err
