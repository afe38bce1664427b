"""Compute time of a training: its operations, and the speed of accelerators."""

from __future__ import annotations

from slurmpod.jobs.planning.models import Model

PEAK_TFLOPS = {
    "A100": 312,
    "H100": 989,
    "H200": 989,
    "B200": 2250,
    "B300": 2250,
    "GB200": 2500,
    "A10G": 70,
    "L4": 121,
    "L40S": 362,
    "T4": 65,
    "Trainium": 190,
    "Trainium2": 667,
}
"""Dense 16-bit operations of one accelerator in a second, in 10^12. Source: data sheets of NVIDIA
(A100, H100, H200, HGX B200 and B300, GB200, A10G, L4, L40S, T4) and AWS Neuron (Trn1, Trn2
architecture). What is not here has no such number, and no hours are estimated."""

UTILIZATION = 0.4
"""Share of that which a training has where the mesh is not considered: Llama 2 had 0.43 to 0.46 by
its hours (arXiv 2307.09288), Llama 3 405B says 0.38 to 0.43 (arXiv 2407.21783)."""

TOKENS_PER_PARAMETER = 20
"""Tokens that make the best of a number of operations (Hoffmann et al. 2022, arXiv 2203.15556)."""


def operations(model: Model, tokens: float, sequence: int) -> float:
    """Return the operations of a training: 6 for each parameter and token, and those of attention.

    Source: PaLM (Chowdhery et al. 2022, arXiv 2204.02311), appendix B: 6N + 12 L h s for a token.
    What is computed twice, because of checkpointing, does not count. Of a mixture of experts, N has
    what one token meets.
    """
    attention = 12 * model.layers * model.attention_width * sequence
    return tokens * (6 * model.active_parameters + attention)


def accelerator_hours(
    model: Model, tokens: float, sequence: int, accelerator: str, utilization: float
) -> float | None:
    """Return the hours of one accelerator for all of it; None if its speed is unknown."""
    peak = PEAK_TFLOPS.get(accelerator)
    if peak is None:
        return None
    return operations(model, tokens, sequence) / (peak * 1e12 * utilization) / 3600


def scaled_rate(rate: float, batch: int, new_batch: int) -> float:
    """Return the learning rate for another batch, in proportion (Goyal et al. 2017, 1706.02677)."""
    return rate * new_batch / batch


def root_scaled_rate(rate: float, batch: int, new_batch: int) -> float:
    """Return the learning rate by the square root, for Adam (Malladi et al. 2022, 2205.10287)."""
    return float(rate * (new_batch / batch) ** 0.5)
