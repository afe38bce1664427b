"""Failures of steps: for good, or for now."""


class StepFailed(Exception):
    """Something that waiting does not cure. `fix` tells the reader what to do about `reason`."""

    def __init__(self, reason: str, fix: str) -> None:
        self.reason = " ".join(reason.split())
        self.fix = fix
        super().__init__(f"{self.reason}; fix: {fix}")


class NotYet(StepFailed):
    """Something that may pass with time; the runner tries the step again until it times out."""


class CommandFailed(NotYet):
    """A command ended badly or took too long. On a starting node most of this passes."""
