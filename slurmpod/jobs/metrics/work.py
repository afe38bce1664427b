"""The work of a training's steps, from which tokens and MFU follow if a log has neither."""

from __future__ import annotations

from slurmpod.value import Value


class Work(Value):
    """A step's sequences and their tokens; what a token takes, and what all accelerators do.

    `flops_per_token` and `peak_flops`, that of one accelerator in a second, are None where unknown.
    """

    sequence: int | None = None
    global_batch: int | None = None
    accelerators: int | None = None
    flops_per_token: float | None = None
    peak_flops: float | None = None

    def throughput(
        self,
        *,
        samples_per_second: float | None,
        seconds_per_step: float | None,
        tokens_of_one: float | None,
        mfu: float | None,
    ) -> dict[str, float | None]:
        """Return tokens per second and MFU, reported or computed."""
        if self.global_batch and seconds_per_step:
            samples_per_second = self.global_batch / seconds_per_step
        tokens = _product(samples_per_second, self.sequence)
        if tokens is None:
            tokens = _product(tokens_of_one, self.accelerators)
        if tokens_of_one is None and tokens is not None and self.accelerators:
            tokens_of_one = tokens / self.accelerators
        if mfu is None and self.peak_flops:
            flops = _product(tokens_of_one, self.flops_per_token)
            mfu = None if flops is None else flops / self.peak_flops
        return {
            "tokens_per_second": tokens,
            "tokens_per_second_per_accelerator": tokens_of_one,
            "mfu": mfu,
        }


def _product(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one * other
