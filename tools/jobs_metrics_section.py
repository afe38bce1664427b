"""The section of docs/jobs.md on `slurmpod job metrics`, with the formats of logs that it reads."""

from __future__ import annotations

from slurmpod.jobs.metrics.formats import FORMATS

METRICS = """\
## Metrics of a training

    slurmpod job metrics train-fsdp2_12.out --svg train.svg
    slurmpod job logs environments/dev.yaml 12 | slurmpod job metrics - --json

reads the log of a training and shows its last step and loss, its throughput, and each of its runs:
a requeued job and a restarted step continue in the same log. Several logs are read in order, as
those of jobs that follow each other.

| value | meaning |
|---|---|
| `steps_trained_twice` | steps after the checkpoint from which a restart continued |
| `seconds_lost` | the time of those steps, and the time from the last step before a restart to the first one after it. Includes a hang that ended in a restart |
| `seconds_paused` | time for saving, evaluating and hangs: what steps took beyond the usual time, if they took three times as long |
| `seconds_saving`, `seconds_hanging` | the part of it that follows a line about a saved checkpoint, or the watcher's `hang:`. `fsdp2-hybrid`, `bert-pipeline`, `pretrain` and `train-fsdp2` print such a line when they begin to save (`saving a checkpoint after step 20`) |
| `goodput` | share of the time from the first step to the last that is neither lost nor paused. The time in the queue before the first step is not in a log |

`--json` also has every step, `--svg` draws loss and throughput, and `--prometheus` writes text for
node_exporter.

`job metrics` reads lines such as `step 12 loss 5.5449 rate 3e-3 samples 6144 at 1764000370.123`,
with any text before them. `fsdp2-hybrid`, `bert-pipeline`, `pretrain` and `train-fsdp2` print them;
`pretrain` adds tokens per second and MFU (`tokens_per_second_per_accelerator 7250.5 mfu 0.4050`).
Your own program may leave out everything after the loss; then there is no throughput. If not every
step is printed, `steps_trained_twice` may be too low by one interval for each restart.

Lines of these trainings are read, too, with learning rate, time of a step, tokens per second and
MFU if present:

{formats}

If such lines have no time, the cost of restarts is unknown. A step printed by several processes, or
again, counts once. Lightning's bars count batches. Hugging Face's Trainer prints steps only in its
progress bar, on standard error: use `--output` without `--error` to have both in one file. If the
log has no tokens or MFU, these options add them:

    slurmpod job metrics llama_12.out --model llama2-7b --sequence 4096 --global-batch 512 \\
      --accelerators 64 --accelerator H100

Operations per token and peak rates of accelerators are those of [the plan](#plan-a-training);
recomputation does not count.
"""


def metrics_section() -> str:
    """Return the section, with an example of each format."""
    rows = (f"| [{each.name}]({each.source}) | `{_shown(each.example)}` |" for each in FORMATS)
    table = ("| Training | a line of this shape |", "|---|---|", *rows)
    return METRICS.replace("{formats}", "\n".join(table))


def _shown(example: str) -> str:
    """Return an example as a cell of a table."""
    return " ".join(example.split()).replace("|", "\\|")
