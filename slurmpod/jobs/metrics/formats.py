"""How trainings of others report a step: a pattern for each format.

Groups of a pattern: `step`, or `epoch`, `done` and `of` of a progress bar; `loss`; `rate` of
learning; `seconds` or `milliseconds` of a step; `samples` since the beginning; `tokens` of an
accelerator in a second; `mfu` in percent; `time` as `%Y-%m-%d %H:%M:%S`, or as C's asctime has it.
A format without any step takes it from the progress bar that is printed behind it.
"""

from __future__ import annotations

import re
from re import Pattern

from slurmpod.value import Value

NUMBER = r"[-+]?[\d.]+(?:[eE][-+]?\d+)?"
GITHUB = "https://github.com/"


class LogFormat(Value):
    """A format: whose it is, a line of its shape, where it is printed, and what finds it."""

    name: str
    example: str
    source: str
    pattern: Pattern[str]


FORMATS = (
    LogFormat(
        "torchtitan",
        "[titan] 2026-05-01 10:00:07,120 - root - INFO - step: 20  loss:  7.25000"
        "  grad_norm:  1.5000  memory: 30.10GiB(38.00%)  tps: 7,250  tflops: 400.25  mfu: 40.47%",
        f"{GITHUB}pytorch/torchtitan/blob/main/torchtitan/components/metrics.py",
        re.compile(
            r"(?:(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\S* - .*)?"
            rf"(?<!validate )\bstep: *(?P<step>\d{{1,15}})  +loss: *(?P<loss>{NUMBER})  "
            rf"(?:.*?\btps: *(?P<tokens>[\d,]+))?(?:.*?\bmfu: *(?P<mfu>{NUMBER})%)?"
        ),
    ),
    LogFormat(
        "Megatron-LM",
        " [2026-05-01 10:00:12] iteration       20/     500 | consumed samples:        320 |"
        " elapsed time per iteration (ms): 820.5 | learning rate: 4.000000E-05 |"
        " global batch size:    16 | lm loss: 1.050000E+01 |",
        f"{GITHUB}NVIDIA/Megatron-LM/blob/main/megatron/training/training.py",
        re.compile(
            r"(?:\[(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\S*\] *)?"
            r"\biteration +(?P<step>\d{1,15})/ *(?:\d+|infinity) \|"
            r"(?:.*?consumed samples: *(?P<samples>\d{1,15}) \|)?"
            rf".*?elapsed time per iteration \(ms\): *(?P<milliseconds>{NUMBER}) \|"
            rf".*?learning rate: *(?P<rate>{NUMBER}) \|.*?\blm loss: *(?P<loss>{NUMBER}) \|"
        ),
    ),
    LogFormat(
        "nanoGPT",
        "iter 20: loss 3.1250, time 150.50ms, mfu 35.25%",
        f"{GITHUB}karpathy/nanoGPT/blob/master/train.py",
        re.compile(
            rf"\biter (?P<step>\d{{1,15}}): loss (?P<loss>{NUMBER}),"
            rf" time (?P<milliseconds>{NUMBER})ms(?:, mfu (?P<mfu>{NUMBER})%)?"
        ),
    ),
    LogFormat(
        "Neuron (neuronx-distributed)",
        "LOG Fri May  1 10:00:03 2026 - (0, 20) step_loss : 7.5000 learning_rate : 7.80e-05"
        " throughput : 55.25",
        f"{GITHUB}aws-neuron/neuronx-distributed/blob/main/examples/training/llama/training_utils.py",
        re.compile(
            r"\bLOG (?P<time>\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})"
            rf" - \(\d+, (?P<step>\d{{1,15}})\) step_loss : (?P<loss>{NUMBER})"
            rf" learning_rate : (?P<rate>{NUMBER})"
        ),
    ),
    LogFormat(
        "NeMo",
        "Training epoch 0, iteration 20/99 | lr: 2.000e-06 | global_batch_size: 8 |"
        " global_step: 20 | reduced_train_loss: 1.25 | train_step_timing in s: 2.5 |"
        " consumed_samples: 168",
        f"{GITHUB}NVIDIA/NeMo/blob/main/nemo/lightning/pytorch/callbacks/progress_printer.py",
        re.compile(
            r"\bTraining epoch \d+, iteration \d+/\d+ \|"
            rf"(?:.*?\blr: (?P<rate>{NUMBER}) \|)?.*?\bglobal_step: (?P<step>\d{{1,15}}) \|"
            rf".*?\breduced_train_loss: (?P<loss>{NUMBER})"
            rf"(?:.*?train_step_timing in s: (?P<seconds>{NUMBER}))?"
            r"(?:.*?consumed_samples: (?P<samples>\d{1,15}))?"
        ),
    ),
    LogFormat(
        "Lightning, and NeMo's progress bar",
        "Epoch 0:  20%|##        | 20/100 [00:10<00:40,  2.00it/s, v_num=0, train_loss=1.500]",
        f"{GITHUB}Lightning-AI/pytorch-lightning/blob/master/src/lightning/pytorch/callbacks/"
        "progress/tqdm_progress.py",
        re.compile(
            r"\bEpoch (?P<epoch>\d{1,15}): .*?\| *(?P<done>\d{1,15})/(?P<of>\d{1,15}|\?) \[.*?"
            rf"\b(?:reduced_train_|train_)?loss(?:_step)?=(?P<loss>{NUMBER})"
            rf"(?:.*?\blr=(?P<rate>{NUMBER}))?"
            rf"(?:.*?train_step_timing in s=(?P<seconds>{NUMBER}))?"
        ),
    ),
    LogFormat(
        "Hugging Face's Trainer",
        "{'loss': 1.25, 'grad_norm': 0.75, 'learning_rate': 4e-05, 'epoch': 0.2}",
        f"{GITHUB}huggingface/transformers/blob/main/src/transformers/trainer_callback.py",
        re.compile(
            rf"\{{'loss': '?(?P<loss>{NUMBER})'?, .*?"
            rf"'learning_rate': '?(?P<rate>{NUMBER})'?.*?'epoch'"
        ),
    ),
)

BAR = re.compile(r"^(?:\d+: *)? *\d+%\|[^|]*\| *(?P<step>\d{1,15})/\d+ \[")
"""The progress bar of Hugging Face's Trainer, which has no title, as its other bars do."""

COLOURS = re.compile(r"\x1b\[[\d;]*m")
