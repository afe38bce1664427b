"""The sections of docs/jobs.md on jobs on the cluster: submitting, following, copying."""

ON_THE_CLUSTER = """\
## A job on the cluster

    slurmpod job submit environments/dev.yaml ddp --python /fsx/ubuntu/venv/bin/python -- --steps 20

1. checks the batch script of the folder against the cluster, as `job lint` does;
2. [copies the folder](#what-is-copied) to the path in its `--chdir`;
3. submits the job. Arguments after `--` go to it;
4. follows it to its end: it prints the job's output unchanged, and also its state, its restarts,
   and nodes that fail and come back.

The exit code is 0 if the job completed, otherwise 1. Ctrl-C only stops following, and prints how to
resume. A lost connection is opened again. With `--no-follow`, the command returns once the job is
submitted.

### Variables and secrets

    slurmpod job submit environments/examples/guarded-data.yaml own --env HF_HOME=/fsx/hub \\
      --env-file own.env --secret \\
      HF_TOKEN=arn:aws:secretsmanager:us-west-2:123456789012:secret:hugging-face-AbCdEf

sets variables of the job. `job render` takes the same options and writes them into the batch
script, quoted. A file has one NAME=VALUE in each line, without quotes; an option overrides it. Your
values also override those that a step sets for its nodes, such as `NCCL_DEBUG` and
`OMP_NUM_THREADS`. Names of Slurm (`SBATCH_*`, `SLURM_*`) are refused, and so are values that look
like secrets.

A secret stays in Secrets Manager. The batch script reads it when the job starts, with the role of
its first node (`secrets.sh`), and passes it to its steps; a requeued job reads it again. Its ARN is
in the script or in the queue; its text is in no file, log or argument. The variable gets the text
unchanged, even if it is JSON. Workers may read the secrets listed in `identity.job_secrets`; others
are refused before anything is copied. All users who run jobs can read these secrets, because nodes
share one role. The preflight checks that each exists (PRE-421). To use secrets in your own batch
script, copy `secrets.sh` beside it and add the line `source ./secrets.sh`.

### Its state, its log and its end

    slurmpod job status environments/dev.yaml
    slurmpod job logs environments/dev.yaml 12 --follow
    slurmpod job cancel environments/dev.yaml 12

Each task of an array has its own log: use `12_3` with `job logs`; the number of the whole array is
refused. If a restart has emptied the log, it is printed from its new beginning.

These commands use Session Manager to reach the first node of the group where users work, as user
`ubuntu` (`--user`). Like `slurmpod lifecycle run` they need `sagemaker:DescribeCluster`,
`sagemaker:ListClusterNodes`, and `ssm:StartSession` on the cluster and on AWS's document
`AWS-StartNonInteractiveCommand`, which [lets its holder be root](sessions.md). The policy for users
of `access.sessions` does not allow that: those users copy and submit by hand, in their sessions.
For a rehearsal, set up the shell with `eval "$(slurmpod rehearsal env)"`. Slurm forgets a job some
minutes after its end (`MinJobAge`): then it cannot be followed, but its log is still in its folder.

## What is copied

The folder may be a whole repository. In a git repository, slurmpod copies the files that git tracks
or would track, including submodules that are checked out; elsewhere all files that no `.gitignore`
excludes. A file `.slurmpodignore` with the same syntax excludes more in both cases, such as data.
`__pycache__` and `.git` are never copied, and links to folders are not followed. A folder that git
ignores entirely, such as one below `build`, is copied as if there were no git.

slurmpod first reads the digests of the files on the cluster, and then sends only the changed ones,
compressed:

| size | path | needs |
|---|---|---|
| up to about 15 KB | a session | |
| more | the environment's bucket, below `PREFIX/jobs/`: the nodes fetch the files with their role, and then they are removed from the bucket | `s3:ListBucket` on the bucket; `s3:GetObject`, `s3:PutObject` and `s3:DeleteObjectVersion` on these objects |
| more, with `lifecycle.mode: managed` (HyperPod takes no scripts) | the first of `identity.data_buckets`, below `slurmpod-jobs/` | the same |
| more, if you or the nodes' role lack a permission, or there is no bucket | sessions of 50,000 characters, which is slow; up to 20 MB at once. The command says so | |

A single file may have 5 GB (PutObject).

- A new folder appears under its name only when it is complete.
- In an existing folder, all new files are complete before the first one is replaced, each
  atomically. Files that jobs wrote there stay, and so do files that you have deleted locally.
- An interrupted copy changes nothing; the same command continues it.
- Files that differ on the cluster are listed, and replaced only after a `y` or with `--yes`.
- Executable files stay executable.

`.slurmpod-jobs/12.json` in the folder records the source of job 12: git's commit, whether there
were uncommitted changes, and a digest of all files.
"""
