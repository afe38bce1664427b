"""The work of a training step, from the options of `slurmpod job metrics`."""

from __future__ import annotations

import argparse

from slurmpod.jobs.allocation import JobRefused
from slurmpod.jobs.metrics.work import Work
from slurmpod.jobs.planning.compute import PEAK_TFLOPS, operations
from slurmpod.jobs.planning.models import MODELS, Model, count, model_of_size
from slurmpod.jobs.planning.training_spec import SIZES


def add_work_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options from which tokens and MFU are computed."""
    work = parser.add_argument_group("for tokens per second and MFU, if the log does not have them")
    work.add_argument("--sequence", type=int, metavar="N", help="tokens per sequence")
    work.add_argument("--global-batch", type=int, metavar="N", help="sequences per step")
    work.add_argument("--accelerators", type=int, metavar="N", help="number of accelerators")
    work.add_argument("--accelerator", metavar="NAME", help=f"one of {', '.join(PEAK_TFLOPS)}")
    work.add_argument("--model", help="its name or number of parameters, as in 'job plan'")


def work_of(options: argparse.Namespace) -> Work:
    """Return the work of a step; raises JobRefused."""
    numbers = (options.sequence, options.global_batch, options.accelerators)
    if any(each is not None and each < 1 for each in numbers):
        raise JobRefused(
            "numbers of tokens, sequences and accelerators must be at least 1", "correct them"
        )
    if options.model and not options.sequence:
        raise JobRefused(
            "the work per token also depends on the sequence length", "give --sequence"
        )
    flops = operations(_model(options.model), 1, options.sequence) if options.model else None
    return Work(*numbers, flops_per_token=flops, peak_flops=_peak(options.accelerator))


def _peak(accelerator: str | None) -> float | None:
    if accelerator is None:
        return None
    if accelerator not in PEAK_TFLOPS:
        fix = f"name one of {', '.join(PEAK_TFLOPS)}"
        raise JobRefused(f"the peak FLOPS of '{accelerator}' is not known", fix)
    return PEAK_TFLOPS[accelerator] * 1e12


def _model(text: str) -> Model:
    if known := MODELS.get(text.lower()):
        return known
    parameters = count(text)
    if parameters is not None and SIZES[0] <= parameters <= SIZES[1]:
        return model_of_size(parameters)
    fix = f"give its parameters, such as 7B, or one of {', '.join(MODELS)}"
    raise JobRefused(f"'{text}' is not a known model", fix)
