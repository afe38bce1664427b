"""What docs/jobs.md says of the recipes: made of their models, with every parameter."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic.fields import FieldInfo

from slurmpod.environment.descriptions import descriptions, expectation
from slurmpod.jobs.metrics.formats import FORMATS
from slurmpod.jobs.recipes.recipe import Recipe
from slurmpod.jobs.recipes.registry import RECIPES
from tools.jobs_adoption_section import ADOPTION
from tools.jobs_staging_section import STAGING
from tools.jobs_watch_section import WATCH

INTRODUCTION = """\
## Recipes

    slurmpod job render environments/dev.yaml check-nodes --out check-nodes

makes the job of a recipe, which is [submitted](#a-job-on-the-cluster) then. What a recipe leaves to
choose stands in a file of YAML, and mistakes in it are told all at once, each with its line:

    echo "steps: 50" > ddp.yaml
    slurmpod job render environments/dev.yaml ddp --parameters ddp.yaml --out ddp

Programs get the values as options, of which each may be given another one behind the script's name
when it is submitted.

    slurmpod job render environments/examples/closed-network.yaml own-program \\
      --container-image /fsx/images/pytorch.sqsh --out mine

runs it in a container, where the environment has `lifecycle.containers`. An image is a file on
shared storage, or a name such as `nvcr.io/nvidia/pytorch:25.06-py3`, which the job fetches once;
from ECR with the nodes' role (`identity.image_repositories`). The container sees all shared file
systems, the devices, and `/var/log/aws/clusters`, which AWS's libraries look for; it has the job's
variables, but the image's paths. The step starts it with enroot after it has asked Slurm for its
nodes: a container has no scontrol, and reports disagree on `--auto-resume` beside the options of
pyxis. This was run with a stand-in for enroot.

    slurmpod job image environments/examples/closed-network.yaml \\
      registry.example.internal/training/pytorch:2.9 --out import

makes a job that imports an image once for all: its last line is the option with which recipes take
it. It comes from a registry; build a Dockerfile where Docker runs. From the account's own ECR nodes
pull what stands under `identity.image_repositories`, with their role; other repositories there are
refused. Beside the file its SHA-256 is kept: run again, the job imports nothing, and fails where
the file was changed. This, too, was run with a stand-in for enroot.

Where the instance type has EFA, NCCL is told to use nothing else between nodes (`NCCL_NET`), with
and without a container: without AWS's plugin it would train over TCP, many times slower, and say
nothing. An image that has no plugin, as NVIDIA's newest ones for PyTorch, gets that of the node
(`/opt/amazon`); where neither has one, the step ends with a sentence before it trains. Submit a job
that is to use TCP with `--env NCCL_NET=Socket`. The scripts are tested with stand-ins for image and
plugin: no GPU has run with them.
"""

PYTHON = """\
## PyTorch on the cluster

    slurmpod job venv environments/dev.yaml --out make-venv
    slurmpod job submit environments/dev.yaml make-venv

makes a Python environment on shared storage, `/fsx/ubuntu/venv` (`--at`), with PyTorch 2.13 for
NVIDIA GPUs and CPUs. A job does it, on one node, with the Python of the nodes (3.10 or later, with
its module venv; `PYTHON` names another one). Its last line is the `PYTHON` that recipes need.
`--requirements` names a list of yours. It has exact versions with the SHA-256 of their files, as
`uv pip compile --generate-hashes` writes them; anything else is refused with its line. `--from`
names a repository: what its `uv.lock`, `pyproject.toml` or `requirements.txt` asks for is pinned by
uv (`pip install uv`) for the nodes' processors and their Python (`--python-version`, 3.10 if you
say nothing). pip installs wheels alone, and no file with another sum; what has no wheel is
[built before](#what-has-no-wheel).
`--index` names another index than PyPI. Its address may hold no secret: that belongs into
`~/.netrc` on the cluster.

Where nodes reach no index, wheels come from the environment's bucket:

    pip download --only-binary=:all: --python-version 3.10 --platform manylinux_2_28_x86_64 \\
      --dest wheels torch==2.13.0
    slurmpod job venv environments/dev.yaml --wheels wheels --mirror --out make-venv

Then versions and sums are those of the files in the folder. `--mirror` copies what the bucket
lacks, as `slurmpod artefacts mirror` does with packages; without it AWS is not asked. What depends
on the wheels has to be among them.

Each list of pins has a folder of its own, such as `/fsx/ubuntu/venv-3f0c7d9a51e2b846`, and
`/fsx/ubuntu/venv` is a link to the newest one that is complete. So the job may be run again at any
time, and programs that run keep theirs. It names older ones, and removes none. A folder that it
did not make is left as it is.

### What has no wheel

    slurmpod job venv environments/dev.yaml --from trainer/requirements.txt --partition cpu \\
      --out make-venv

names every package that the job builds, and how: those that have an archive of their source alone,
repositories of git, and folders such as `-e .`. uv takes versions that have wheels where these
suffice, else the newest ones. The list `sources.txt` beside the pins has the SHA-256 of archives,
which is checked before anything of them runs, and full commits: a branch or a tag is the commit
that it was then. Files of a folder (those that git would keep) are copied into the job's folder,
each state of them into a place of its own. They are installed from there, not in place: run the
command again when they have changed. A repository has to be reached by HTTPS, as nodes have no key
for SSH; where it asks for a password, this belongs into `~/.netrc` on the cluster. Files of your
machine are refused, other than folders.

The job has its node alone, for all its processors. Choose nodes that have the compiler
(`--partition`); settings such as MAX_JOBS or PIP_FIND_LINKS are given with `job submit --env`. Each
wheel is kept in `built-wheels` beside the environment, under the digest of its source, the Python
and the processor: another environment with the same source does not build it again, and one that
was changed since is built anew. Nothing is removed there. What builds need themselves, such as
setuptools, pip takes from the index as it is then. Packages whose build imports others of the
environment, as that of flash-attn does PyTorch, are built when all others are installed, if
`pyproject.toml` names them under `tool.uv.no-build-isolation-package`; what their build needs has
to be among the packages, and a wheel of them is kept for these pins alone. A build that fails ends
the job with the package, the last lines, and the place of its log. uv asks some packages for their
needs by running part of their build where you are.
"""

ON_THE_CLUSTER = """\
## A job on the cluster

    slurmpod job submit environments/dev.yaml ddp --python /fsx/ubuntu/venv/bin/python -- --steps 20

lints the batch script of a folder against the cluster, [copies the folder](#what-is-copied) to the
place that its `--chdir` names, submits it and follows it to its end: what the job writes is printed
as it is, and beside it its state, its restarts, and nodes that fail and come back. What stands
behind `--` goes to the job. The command ends with exit code 0 if the job completed, else with 1.

Ctrl-C ends the following alone, and says
how to come back; a connection that is lost is made again. `--no-follow` returns once the job is
submitted.

### Variables and secrets

    slurmpod job submit environments/examples/guarded-data.yaml own --env HF_HOME=/fsx/hub \\
      --env-file own.env --secret \\
      HF_TOKEN=arn:aws:secretsmanager:us-west-2:123456789012:secret:hugging-face-AbCdEf

sets variables of the job; `job render` takes the same options, and writes them into the batch
script, quoted. A file has a NAME=VALUE in each line, without quotes; an option wins over it. What a
step sets for its nodes itself, such as `NCCL_DEBUG` and `OMP_NUM_THREADS`, keeps the value that you
give. Names of Slurm (`SBATCH_*`, `SLURM_*`) are refused, and so are values that look like secrets.

A secret stays in Secrets Manager. The batch script asks for it when the job starts, with the role
of its first node (`secrets.sh`), and passes it to its steps. Its ARN stands in the script or in
the queue; its text stands in no file, log or argument. It is read again when the job is requeued.
The text becomes the variable as it is, JSON too. Workers may read what the environment names under
`identity.job_secrets`; any other secret is refused before something is copied. Whoever runs jobs
can read these secrets: nodes share one role. Preflight says whether each is there (PRE-421). A
batch script of your own needs a copy of `secrets.sh`, and the line `source ./secrets.sh`.

### Its state, its log and its end

    slurmpod job status environments/dev.yaml
    slurmpod job logs environments/dev.yaml 12 --follow
    slurmpod job cancel environments/dev.yaml 12

Each task of an array has a log of its own: `job logs` takes `12_3`, and refuses the number of the
whole. A log that a restart of its job has emptied is printed from its new beginning.

All of it goes through Session Manager to the first node of the group where users work, in the name
of `ubuntu` (`--user`). Like `slurmpod lifecycle run` it needs `sagemaker:DescribeCluster`,
`sagemaker:ListClusterNodes`, and `ssm:StartSession` on the cluster and on AWS's document
`AWS-StartNonInteractiveCommand`, which [lets its holder be root](sessions.md). The policy for users
of `access.sessions` does not allow that: they copy and submit by hand, in sessions of their own. In
a rehearsal it works in a shell with its variables:
`eval "$(slurmpod rehearsal env)"`. Slurm forgets a job some minutes after its end (`MinJobAge`):
then there is nothing to follow, and its log is in its folder.

## What is copied

The folder may be a whole repository of yours. Where git knows it, what git tracks or would track
is copied, with the files of submodules that are there; elsewhere all but what files `.gitignore`
exclude. A file `.slurmpodignore`, written alike, excludes more in both cases: data, for instance.
`__pycache__` and `.git` stay here, and links to folders are not followed. What git ignores as a
whole, such as a folder below `build`, is copied as if there were no git.

The cluster is asked for the digests of the files first, and only those with other ones travel,
packed. Up to about 15 KB go within a session. More goes through the environment's bucket, below
`PREFIX/jobs/`: the nodes fetch it with their role, which may read there, and it is removed from
the bucket after that. Where HyperPod takes no scripts (`lifecycle.mode: managed`), the first of
`identity.data_buckets` serves, below `slurmpod-jobs/`. You need `s3:ListBucket` on the bucket,
and `s3:GetObject`, `s3:PutObject` and `s3:DeleteObjectVersion` on these objects. Where you or the
role of the nodes lack a right, or there is no bucket, this is told, and all goes through sessions
of 50,000 characters: slowly, and up to 20 MB at once. A single file may have 5 GB (PutObject).

A new folder is made under another name, and has its own when it is whole. In one that is there,
every file is ready before the first is replaced, each at once; what jobs wrote there stays, and
so do files that you have deleted here. What is cut off changes nothing, and the same command goes
on from there. Files that are on the cluster with other content are named, and replaced only after
a `y` or with `--yes`. A file that you may run here can be run there.

`.slurmpod-jobs/12.json` in the folder says what job 12 was made from: git's commit, whether there
were changes beside it, and a digest of all files.
"""


METRICS = """\
## What a training has reached

    slurmpod job metrics train-fsdp2_12.out --svg train.svg
    slurmpod job logs environments/dev.yaml 12 | slurmpod job metrics - --json

shows, from what a training wrote, its last step and loss, its throughput, and each of its lives: a
job that was requeued, and a step that was restarted, go on in the same log. Several logs are read
in their order, as those of jobs that follow each other. `steps_trained_twice` are the steps behind
the checkpoint that a restart went on from, and `seconds_lost` is the time that these took, and the
time from the last step before a restart to the first one after it. `seconds_paused` are those of
saving, evaluating and hangs: what steps took beyond the usual, where that was thrice as long.
Of them, `seconds_saving` and `seconds_hanging` are those before which the log has a line that says
so: that a checkpoint is saved, or the watcher's `hang:`. `fsdp2-hybrid`, `bert-pipeline`,
`pretrain` and `train-fsdp2` print one when they begin to save (`saving a checkpoint after step
20`). A hang that ended in a restart is in `seconds_lost`.
`goodput` is the share of all the time, from the first step to the last, that is neither; the time
in the queue before the first step is not known to a log. `--json` also has every step,
`--svg` writes a picture of loss and throughput, and `--prometheus` writes the text that
node_exporter reads.

Lines such as `step 12 loss 5.5449 rate 3e-3 samples 6144 at 1764000370.123` are read, whatever
stands before them. `fsdp2-hybrid`, `bert-pipeline`, `pretrain` and `train-fsdp2` print them;
`pretrain` adds tokens per second and MFU (`tokens_per_second_per_accelerator 7250.5 mfu 0.4050`). A
program of yours may leave out what comes behind the loss, and then has no throughput. Where not
every step is reported, up to that many more were trained twice at each restart.

Lines of these trainings are read, too, with learning rate, time of a step, tokens per second and
MFU where they are there:

{formats}

Where such a line has no time, nothing is known of what restarts cost. A step that is printed by
several processes, or again, counts once. Bars of Lightning count batches. Hugging Face's Trainer
prints steps in its progress bar alone, on standard error: `--output` alone keeps both in one file.
Tokens and MFU follow from more options where the log has none:

    slurmpod job metrics llama_12.out --model llama2-7b --sequence 4096 --global-batch 512 \\
      --accelerators 64 --accelerator H100

Operations of a token, and what accelerators do at most, are those of [the
plan](#what-a-training-needs); what is computed again does not count.
"""


def _formats() -> str:
    rows = (f"| [{each.name}]({each.source}) | `{_shown(each.example)}` |" for each in FORMATS)
    return "\n".join(("| Training | a line of this shape |", "|---|---|", *rows))


def _shown(example: str) -> str:
    """Return an example as a cell of a table has it."""
    return " ".join(example.split()).replace("|", "\\|")


def recipes_section() -> str:
    """Return the section, and what becomes of the jobs."""
    entries = map(_entry, RECIPES.values())
    metrics = METRICS.replace("{formats}", _formats())
    ways = (PYTHON, ADOPTION, STAGING, ON_THE_CLUSTER)
    return "\n".join((INTRODUCTION, *entries, *ways, metrics.rstrip(), WATCH))


def _entry(recipe: Recipe) -> str:
    says = "".join(f" {each}" for each in _limits(recipe))
    text = f"### {recipe.name}\n\n{recipe.starts[0].upper()}{recipe.starts[1:]}.{says}\n"
    more = f"\n{recipe.more}\n" if recipe.more else ""
    return text + more + "".join(_table(recipe))


def _limits(recipe: Recipe) -> Iterator[str]:
    """Yield where a recipe does not run."""
    for kind in sorted(recipe.unsuitable):
        yield f"It does not run on {kind}."
    if recipe.instance_types:
        yield f"It runs on {', '.join(recipe.instance_types)} alone."
    if recipe.why_no_container:
        yield f"It runs in no container: {recipe.why_no_container}."


def _table(recipe: Recipe) -> Iterator[str]:
    fields = recipe.parameters.model_fields
    if not fields:
        return
    meanings = descriptions(recipe.parameters)
    yield "\n| Parameter | Default | What it is | Allowed |\n|---|---|---|---|\n"
    for name, field in fields.items():
        yield f"| `{name}` | {_default(field)} | {meanings[name]} | {expectation(field)} |\n"


def _default(field: FieldInfo) -> str:
    value = field.default
    if isinstance(value, dict):
        return "; ".join(f"{name}: {', '.join(map(str, each))}" for name, each in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else str(value)
