"""Run the step of a training and watch it: name the rank that hangs or crawls, restart if asked.

python3 slurmpod_watch/watch.py [OPTIONS] -- srun ...

The watcher's own failures never end the training, which then runs unwatched. The exit status is
that of the step.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import traceback
from collections import defaultdict
from datetime import datetime, timezone
from pathlib import Path

from flights import PREFIX, dumps_in, missing
from pace import OWN, Heartbeat, Limits, Log, Pace
from slurm import Job
from verdict import Rank, hanging, slowest

TELL, REQUEUE, RESTART = "tell", "requeue", "restart"
POLL_SECONDS = 1.0
LOOK_SECONDS = 60.0
LOOKS = 5
MOST_RESTARTS = 3
"""The maximum number of restarts in a row without any step between them."""

END_SECONDS = 60.0
"""How long a killed step may take to end before its srun is ended, too."""


class Watch:
    """One job's step, run once and after each restart."""

    def __init__(self, options: argparse.Namespace, job: Job) -> None:
        self._options = options
        self._job = job
        self._folder = Path(f"slurmpod_watch-{job.id}").resolve()
        self._folder.mkdir(exist_ok=True)
        self._limits = Limits(
            options.times, options.hang_after, options.start, options.pause, options.slow
        )
        self._restarts = 0
        self._told = ""
        self._found = 0

    def run(self) -> int:
        """Return the status of the step that was not restarted."""
        while True:
            before = self._job.steps()
            step = subprocess.Popen(self._options.command, env=self._variables())
            try:
                is_restarted = self._watch(step, before)
            except Exception:  # noqa: BLE001 - the training is worth more than its watcher
                say(f"it watches no longer: {traceback.format_exc()}")
                is_restarted = False
            status = step.wait()
            if not is_restarted:
                return status if status >= 0 else 128 - status

    def _variables(self) -> dict[str, str]:
        """Return the step's variables: the paths of stacks and of flight recorder dumps."""
        dump = str(self._folder / PREFIX)
        added = {
            "SLURMPOD_STACKS": str(self._folder),
            "TORCH_FR_BUFFER_SIZE": "2000",
            "TORCH_NCCL_DUMP_ON_TIMEOUT": "1",
            "TORCH_FR_DUMP_TEMP_FILE": dump,
            "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": f"/tmp/slurmpod_watch-{self._job.id}-",  # noqa: S108
        }
        return {**added, **os.environ}

    def _watch(self, step: subprocess.Popen[bytes], before: set[str]) -> bool:
        """Watch until the step ends; return whether to restart it."""
        heartbeat, log = self._options.heartbeat, self._options.log or self._job.log()
        source = Heartbeat(Path(heartbeat)) if heartbeat else Log(Path(log))
        pace, is_told, is_slow = Pace(self._limits, time.monotonic()), False, False
        while step.poll() is None:
            time.sleep(POLL_SECONDS)
            count, text = source.read()
            now = time.monotonic()
            if count:
                self._goes_on()
                self._restarts, is_told = 0, False
                pace.report(now, count)
            elif text:
                pace.output(now, text)
            if pace.hangs(now) and not is_told and step.poll() is None:
                is_told = True
                if self._hangs(pace, now, source.step):
                    return self._end(step, before)
            is_slow = self._crawls(pace, is_slow)
        return False

    def _hangs(self, pace: Pace, now: float, step: str) -> bool:
        """Report the rank that hangs, and act; return whether to restart the step."""
        usual = "" if pace.usual is None else f", where {pace.usual:.3g} s are usual"
        after = f" after step {step}" if step else ""
        looks = self._looks(1)
        dumps = dumps_in(self._folder)
        nodes = {str(each["node"]) for each in looks}
        silent = [node for node in self._job.nodes() if node not in nodes]
        who = hanging(_ranks(looks), silent, missing(dumps))
        self._told = f"no progress for {now - pace.last:.0f} s{after}{usual}: {who}"
        self._tell(f"hang: {self._told}")
        if self._options.action == REQUEUE:
            say("the job is requeued")
            self._job.requeue()
        if self._options.action != RESTART:
            return False
        self._restarts += 1
        if self._restarts > MOST_RESTARTS:
            say(f"{MOST_RESTARTS} restarts have not helped: it is left as it is")
            return False
        return True

    def _goes_on(self) -> None:
        """Report that a hang is over, also after a restart."""
        if self._told:
            say("the training goes on")
            self._job.comment(f"{_now()} over: {self._told}")
            self._told = ""

    def _crawls(self, pace: Pace, was_slow: bool) -> bool:
        """Report once which rank is slow; return whether the training is."""
        if not pace.crawl:
            return False
        if not was_slow:
            now, usual = pace.crawl
            looks = self._looks(LOOKS)
            samples = [_ranks([one for one in looks if one["look"] == at]) for at in range(LOOKS)]
            who = slowest([each for each in samples if each])
            self._tell(f"crawl: a step takes {now:.3g} s, where {usual:.3g} s are usual: {who}")
        return True

    def _looks(self, looks: int) -> list[dict[str, object]]:
        """Return the samples of all nodes that answer, and save them next to the job."""
        for dump in self._folder.glob(f"{PREFIX}*"):  # of an earlier hang
            dump.unlink()
        count = len(self._job.nodes()) or 1
        printed = self._job.look(looks, count, LOOK_SECONDS)
        lines = [line for line in printed.splitlines() if line.startswith("{")]
        self._found += 1
        (self._folder / f"look-{self._found}.json").write_text("[" + ",\n".join(lines) + "]\n")
        return [json.loads(line) for line in lines]

    def _tell(self, text: str) -> None:
        say(text)
        self._job.comment(f"{_now()} {text}")

    def _end(self, step: subprocess.Popen[bytes], before: set[str]) -> bool:
        """End the step, so that it can be restarted."""
        say("the step is ended, and starts again")
        for number in self._job.steps() - before:
            self._job.kill(number)
        try:
            step.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            step.kill()
        return True


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S+00:00")


def _ranks(looks: list[dict[str, object]]) -> list[Rank]:
    by_rank: defaultdict[int, list[Rank]] = defaultdict(list)
    for look in looks:
        for each in look["ranks"]:  # type: ignore[attr-defined]
            children = tuple((pid, state, name) for pid, state, name in each["children"])
            rank = Rank(
                **{
                    **each,
                    "node": str(look["node"]),
                    "stack": tuple(each["stack"]),
                    "children": children,
                }
            )
            by_rank[rank.rank].append(rank)
    return [by_rank[rank][0] for rank in sorted(by_rank)]


def say(text: str) -> None:
    """Write a line into the job's output."""
    print(f"{OWN}{text}", flush=True)


def _options(words: list[str]) -> argparse.Namespace:
    limits = Limits()
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0],
        allow_abbrev=False,
        usage="%(prog)s [OPTIONS] -- srun ...",
    )
    parser.add_argument(
        "--action", choices=(TELL, REQUEUE, RESTART), default=TELL, help="at a hang"
    )
    add = parser.add_argument
    add("--hang-after", type=float, default=limits.floor, metavar="SECONDS", help="at least")
    add(
        "--times",
        type=float,
        default=limits.times,
        help="usual steps without progress that count as a hang",
    )
    add("--start", type=float, default=limits.start, metavar="SECONDS", help="for the first steps")
    add("--pause", type=float, default=limits.pause, metavar="SECONDS", help="to save or compile")
    add(
        "--slow", type=float, default=limits.slow, help="multiple of the usual step that is a crawl"
    )
    add("--log", help="the file with the steps (default: the job's output)")
    add("--heartbeat", help="a file that changes after each step, instead of the log")
    at = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:at])
    options.command = words[at + 1 :]
    if not options.command:
        parser.error("write -- and the command of the step behind the options")
    return options


def main() -> int:
    """Watch in a Slurm job; elsewhere only run the command."""
    options = _options(sys.argv[1:])
    job = os.environ.get("SLURM_JOB_ID")
    if job:
        return Watch(options, Job(job)).run()
    return subprocess.run(options.command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
