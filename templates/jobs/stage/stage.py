"""Stage files on storage that all nodes share, or remove staged files.

`list` writes the list of files, `copy` copies this task's share, and `conclude` checks whether all
of them are there. A file that was staged before, and matches the source, is not copied again; an
incomplete one is resumed where it ended. `evict` removes staged files that are unchanged, nothing
else.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from copying import Share
from digests import of_file
from records import Records
from sources import KEPT_BACK, S3, Item, items_of

SUMMARY = "summary"
SHOWN = 10
GB = 1e9


def main(options: argparse.Namespace) -> int:
    """Run one step; return the exit status."""
    steps = {"list": list_items, "copy": copy, "conclude": conclude, "evict": evict}
    return steps[options.step](options)


def list_items(options: argparse.Namespace) -> int:
    """Write the list of the source's files, after a check that they fit."""
    items = items_of(options.source, options.region)
    at: Path = options.at
    try:
        (at / KEPT_BACK).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        sys.exit(f"{at} cannot be written: {error.strerror}; choose a folder of this job's user")
    known = Records(at).all()
    lacking = sum(item.size for item in items if not (at / item.path).exists())
    if (free := shutil.disk_usage(at).free) < lacking:
        sys.exit(f"{lacking / GB:.1f} GB are to come, and {at} has room for {free / GB:.1f} GB")
    said = f"{len(items)} files, {sum(item.size for item in items) / GB:.1f} GB"
    print(f"{options.source}: {said}; {len(known)} were staged before", flush=True)
    outdated = sorted(known.keys() - {item.path for item in items})
    if outdated:
        print(f"no longer in the source, and kept: {_some(outdated)}", flush=True)
    source = options.source if options.source.startswith(S3) else "an index"
    (at / KEPT_BACK / SUMMARY).write_text(f"{said} of {source}\n")
    _list_file().write_text("".join(f"{json.dumps(asdict(item))}\n" for item in items))
    return 0


def copy(options: argparse.Namespace) -> int:
    """Copy this task's share: every n-th file, largest first."""
    task, tasks = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
    by_size = sorted(_items(), key=lambda item: -item.size)
    share = Share(by_size[task::tasks], options.at, options.region, str(task))
    problems = share.copy(options.streams)
    for problem in problems[:SHOWN]:
        print(problem, file=sys.stderr, flush=True)
    return 1 if problems else 0


def conclude(options: argparse.Namespace) -> int:
    """Report whether everything is there, and how it was verified."""
    records = Records(options.at)
    records.conclude()
    known, items = records.all(), _items()
    lacking = [
        item.path
        for item in items
        if item.path not in known
        or not (known[item.path].is_of(item) and known[item.path].is_untouched(options.at))
    ]
    if lacking:
        print(f"{len(lacking)} of {len(items)} files are not there: {_some(lacking)}")
        print("submit it again: what is there is not copied again")
        return 1
    by_size = [item.path for item in items if known[item.path].proof == "size"]
    shutil.rmtree(options.at / KEPT_BACK / "parts", ignore_errors=True)
    if by_size:
        print(f"known by their size alone, as S3 has no digest of theirs: {_some(by_size)}")
    print(f"all {len(items)} files are in {options.at}")
    return 0


def evict(options: argparse.Namespace) -> int:
    """Remove unchanged staged files, and keep those that were changed since."""
    at: Path = options.at
    records = Records(at).all()
    if not records:
        sys.exit(f"nothing was staged at {at}")
    changed = []
    for path, record in records.items():
        file = at / path
        if not os.path.lexists(file):
            continue
        if file.is_symlink() or not file.is_file():
            changed.append(path)
        elif record.is_untouched(at) or of_file(file).sha256 == record.sha256:
            file.unlink()
        else:
            changed.append(path)
    shutil.rmtree(at / KEPT_BACK)
    above = {parent for path in records for parent in (at / path).parents}
    _remove_empty({each for each in above if each.is_relative_to(at)})
    print(f"{len(records) - len(changed)} files of {at} are removed")
    if changed:
        print(f"kept, as they were changed since: {_some(changed)}")
    return 0


def _remove_empty(folders: set[Path]) -> None:
    for folder in sorted(folders, key=lambda each: -len(each.parts)):
        with suppress(OSError):  # the folder has other contents
            folder.rmdir()


def _list_file() -> Path:
    return Path(f"items-{os.environ['SLURM_JOB_ID']}.jsonl")


def _items() -> list[Item]:
    return [Item(**json.loads(line)) for line in _list_file().read_text().splitlines()]


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("step", choices=("list", "copy", "conclude", "evict"))
    parser.add_argument("--at", type=Path, required=True, help="the folder")
    parser.add_argument("--source", help="s3://BUCKET/PREFIX/, or an index")
    parser.add_argument("--region", default="", help="the Region of S3")
    parser.add_argument("--streams", type=int, default=1, help="files at a time, on each node")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(_options()))
