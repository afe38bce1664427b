"""The section of the page of jobs on trainings that hang or crawl."""

WATCH = r"""
## A training that hangs or crawls

    slurmpod job render environments/dev.yaml train-fsdp2 --watch restart \
      --hang-after 600 --out train

The batch script of each training starts its step with a watcher, `slurmpod_watch/watch.py`, which
lies beside it: Python 3.10 and its standard library, on the node of the batch script. It reads the
steps in the job's output as `job metrics` does; the training's code stays as it is. `job adopt`
takes the same options. It tells of a hang and of a slow training in the job's output and in its
comment, so that `squeue --format=%k` and `slurmpod why` know it as long as Slurm knows the job.
Should the watcher fail itself, it says so, and the training goes on unwatched.

It takes for

- a hang: no new step for 10 times the usual one (the median of the last 200), for 300 s at least
  (`--hang-after`), and for twice the longest silence that there was;
- a hang at the start: no output at all for 1800 s (`--start`), until there are usual steps;
- no hang: up to 1800 s (`--pause`) behind a line that speaks of a checkpoint, saving, evaluating or
  compiling;
- a crawl: the last 10 steps took 3 times as long as before (`--slow`), and a second or more each.

At a hang it does what `--watch` says:

- `tell`: nothing more; this is the default;
- `requeue`: the job gives its nodes back, and begins again in the queue (`scontrol requeue`);
- `restart`: the step is killed and started again on the same nodes, from the training's checkpoint;
  after three restarts without a step between them it is left alone;
- `off`: there is no watcher.

At a hang it looks at all nodes (`srun --overlap`), and names the rank that the others wait for, by
the first of these that is known:

1. a node that does not answer;
2. a rank, or a process that loads its data, which a signal has stopped, or which waits for a file
   system (`/proc/PID/status`);
3. the ranks that have not come to a collective that others are in, by PyTorch's flight recorder:
   its dumps are asked for through its pipe, and are written with NCCL alone (older PyTorch
   needs `--env TORCH_NCCL_TRACE_BUFFER_SIZE=2000`, too);
4. the rank that is in no collective while all others are, by their stacks;
5. the rank that is elsewhere than two thirds of them, by its stack or where the kernel has it.

Of a training that crawls it looks five times, and names the rank that is outside of collectives
most often. All that was seen is in `slurmpod_watch-JOB/look-1.json`, in the job's folder.

Stacks come from [py-spy](https://github.com/benfred/py-spy), if it is in `PATH` or beside `PYTHON`,
and may look: Ubuntu lets only root look at others' processes (`kernel.yama.ptrace_scope`). The
recipes show theirs without it, and so does a program of yours that has, with `import faulthandler,
os, signal`, where it begins:

```python
if folder := os.environ.get("SLURMPOD_STACKS"):
    faulthandler.register(signal.SIGUSR2, open(f"{folder}/{os.environ['RANK']}.txt", "a"))
```

A batch script of your own takes the folder `slurmpod_watch` of a rendered job beside it, and writes
`python3 slurmpod_watch/watch.py --action restart --` before its `srun`. `--log` names the file that
has the steps, where it is not the job's output, and `--heartbeat` one that your program changes
after each step. The linter looks behind the watcher.

The faults [rank-hangs](faults.md), rank-crawls and loader-stalls do this to a rehearsal. A training
with PyTorch and gloo, of two processes on two nodes, was started again so in one, and had the
losses of an undisturbed run. Dumps of the flight recorder were read as PyTorch's own reader takes
them: no NCCL was there to write them.
"""
