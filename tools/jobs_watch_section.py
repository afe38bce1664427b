"""The section of docs/jobs.md on trainings that hang or crawl."""

WATCH = r"""
## A training that hangs or crawls

    slurmpod job render environments/dev.yaml train-fsdp2 --watch restart \
      --hang-after 600 --out train

The batch script of each training starts its step with a watcher, `slurmpod_watch/watch.py` in the
job's folder. It needs Python 3.10 and its standard library on the first node. It reads the steps in
the job's output as `job metrics` does, so the training's code does not change. `job adopt` takes
the same options. The watcher reports a hang or a slow training in the job's output and in its
comment, where `squeue --format=%k` and `slurmpod why` find it as long as Slurm knows the job. If
the watcher itself fails, it says so, and the training continues without it.

| it reports | when |
|---|---|
| a hang | no new step for 10 times the usual time (the median of the last 200), for at least 300 s (`--hang-after`), and for twice the longest silence so far |
| a hang at the start | no output at all for 1800 s (`--start`), until there are usual steps |
| no hang | for up to 1800 s (`--pause`) after a line about a checkpoint, saving, evaluating or compiling |
| a crawl | the last 10 steps took 3 times as long as before (`--slow`), and at least a second each |

| `--watch` | at a hang |
|---|---|
| `tell` | only reports it; this is the default |
| `requeue` | the job releases its nodes and returns to the queue (`scontrol requeue`) |
| `restart` | kills the step and starts it again on the same nodes, from the training's checkpoint; stops doing so after three restarts without a step between them |
| `off` | there is no watcher |

At a hang the watcher examines all nodes (`srun --overlap`) and names the rank that the others wait
for, by the first of these that is known:

1. a node that does not answer;
2. a rank, or a process that loads its data, that a signal has stopped or that waits for a file
   system (`/proc/PID/status`);
3. the ranks missing from a collective that others have entered, according to PyTorch's flight
   recorder: the watcher requests its dumps through its pipe; they are written with NCCL only (older
   PyTorch also needs `--env TORCH_NCCL_TRACE_BUFFER_SIZE=2000`);
4. the rank that is in no collective while all others are, by their stacks;
5. the rank that is elsewhere than two thirds of them, by its stack or its place in the kernel.

If a training crawls, the watcher examines it five times and names the rank that is outside of
collectives most often. All observations are in `slurmpod_watch-JOB/look-1.json`, in the job's
folder.

Stacks come from [py-spy](https://github.com/benfred/py-spy), if it is in `PATH` or beside `PYTHON`
and has the permission: Ubuntu lets only root read others' processes (`kernel.yama.ptrace_scope`).
The recipes dump their stacks without it. To do the same in your own program, run this at its start,
with `import faulthandler, os, signal`:

```python
if folder := os.environ.get("SLURMPOD_STACKS"):
    faulthandler.register(signal.SIGUSR2, open(f"{folder}/{os.environ['RANK']}.txt", "a"))
```

To use the watcher in your own batch script, copy the folder `slurmpod_watch` of a rendered job
beside it, and put `python3 slurmpod_watch/watch.py --action restart --` before `srun`. `--log`
names the file with the steps if it is not the job's output, and `--heartbeat` a file that your
program changes after each step. The linter looks behind the watcher.

To try this in a rehearsal, use the faults [rank-hangs](faults.md), rank-crawls and loader-stalls.
Tested: a training with PyTorch and gloo, of two processes on two nodes of a rehearsal, was
restarted this way and had the losses of an undisturbed run. Dumps of the flight recorder were read
as PyTorch's own reader parses them; none was written by NCCL itself, which was not available.
"""
