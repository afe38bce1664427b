"""The section of docs/jobs.md on `slurmpod job venv`."""

VENV = """\
## PyTorch on the cluster

    slurmpod job venv environments/dev.yaml --out make-venv
    slurmpod job submit environments/dev.yaml make-venv

creates a Python environment on shared storage, `/fsx/ubuntu/venv` (`--at`), with PyTorch 2.13 for
NVIDIA GPUs and CPUs. The job runs on one node with the nodes' Python (3.10 or later, with its
module venv; set `PYTHON` for another one). Its last line is the `PYTHON` that recipes need.

| option | packages |
|---|---|
| `--requirements` | your list: exact versions with the SHA-256 of their files, as `uv pip compile --generate-hashes` writes them. Anything else is refused with its line |
| `--from` | a repository: uv (`pip install uv`) pins the packages of its `uv.lock`, `pyproject.toml` or `requirements.txt` for the nodes' processors and Python (`--python-version`, 3.10 by default) |
| `--index` | another index than PyPI. Its address must not contain a secret: put that into `~/.netrc` on the cluster |

pip installs only wheels, and only files with the pinned SHA-256. Packages without a wheel are
[built first](#packages-without-a-wheel).

If nodes cannot reach an index, the wheels come from the environment's bucket:

    pip download --only-binary=:all: --python-version 3.10 --platform manylinux_2_28_x86_64 \\
      --dest wheels torch==2.13.0
    slurmpod job venv environments/dev.yaml --wheels wheels --mirror --out make-venv

Versions and digests are then those of the files in the folder, which must include all
dependencies. `--mirror` copies the missing files to the bucket, as `slurmpod artefacts mirror` does
with packages; without it, the command does not call AWS.

Each list of pins has its own folder, such as `/fsx/ubuntu/venv-3f0c7d9a51e2b846`, and
`/fsx/ubuntu/venv` is a link to the newest complete one. So you can run the job again at any time,
and running programs keep their packages. The job lists older folders and removes none. It does not
touch a folder that it did not create.

### Packages without a wheel

    slurmpod job venv environments/dev.yaml --from trainer/requirements.txt --partition cpu \\
      --out make-venv

lists every package that the job builds, and how. It builds source archives, git repositories, and
folders such as `-e .`. uv prefers versions with wheels if these satisfy the requirements, otherwise
it takes the newest.

- **Archives and commits**: `sources.txt` beside the pins has the SHA-256 of each archive, which is
  checked before any of its code runs, and full commits, which a branch or tag had at that time.
- **Folders**: the files (those that git would keep) are copied into the job's folder, each state
  into its own place, and installed from there. Run the command again when they have changed. Other
  local files are refused.
- **Repositories** must be reachable by HTTPS, because nodes have no SSH key. Put a password into
  `~/.netrc` on the cluster.
- **Nodes**: the job has its node exclusively and uses all its processors. Choose nodes with a compiler
  (`--partition`). Pass settings such as MAX_JOBS or PIP_FIND_LINKS with `job submit --env`.
- **Kept wheels** are in `built-wheels` beside the environment, under the digest of their source,
  the Python and the processor. Another environment with the same source reuses a wheel; a changed
  source is built again. Nothing is removed there.
- **Build requirements**, such as setuptools, come from the index in their current version. If a
  build imports packages of the environment, as flash-attn's imports PyTorch, name the package in
  `pyproject.toml` under `tool.uv.no-build-isolation-package`: it is then built after all others are
  installed. Its build requirements must be among the packages, and its wheel is kept for these pins
  only.
- **Failures**: a failed build ends the job with the package, the last lines, and the path of its
  log.

To learn the requirements of some packages, uv runs part of their build on your machine.
"""
