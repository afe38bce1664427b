"""Work on this task's share of the keys below a prefix, or show the unfinished keys of all shares.

The first task lists the keys once, into `keys.txt`; so all tasks share the same list, including
those that run again later. `prefix.txt` has its prefix: for other data start in another folder.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from shards import tell_left, work_on_share
from work import work

KEYS = Path("keys.txt")
PREFIX = Path("prefix.txt")
S3 = "s3://"


def main(options: argparse.Namespace) -> int:
    """Run the requested action; return the exit status."""
    if not KEYS.exists():
        _write_once(keys_below(options.prefix), options.prefix)
    _refuse_another(options.prefix)
    keys = KEYS.read_text().splitlines()
    if options.after:
        return tell_left(keys, options.tasks, options.script)
    return work_on_share(keys, options.tasks, work)


def keys_below(prefix: str) -> list[str]:
    """Return all keys in order: paths of files, or URIs of objects in S3."""
    if prefix.startswith(S3):
        return _objects(*prefix.removeprefix(S3).split("/", 1))
    files = (path for path in Path(prefix).rglob("*") if path.is_file())
    return sorted(map(str, files))


def _objects(bucket: str, prefix: str = "") -> list[str]:
    """List a bucket with the AWS CLI, which goes through all pages."""
    query = ("--query", "Contents[].Key", "--output", "json")
    command = ("aws", "s3api", "list-objects-v2", "--bucket", bucket, "--prefix", prefix, *query)
    listed = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    found = json.loads(listed.stdout or b"null") or []
    return sorted(f"{S3}{bucket}/{key}" for key in found if not key.endswith("/"))


def _refuse_another(prefix: str) -> None:
    """Exit if the list is of another prefix than this one."""
    listed = PREFIX.read_text() if PREFIX.exists() else prefix
    if listed != prefix:
        sys.exit(f"{KEYS} lists {listed}, not {prefix}: begin in another folder")


def _write_once(keys: list[str], prefix: str) -> None:
    """Write the list, unless another task was faster: then its list is used."""
    odd = [key for key in keys if len(key.splitlines()) != 1]
    if odd or not keys:
        sys.exit(f"a key has a line break: {odd[0]!r}" if odd else "there are no keys")
    _own(PREFIX, prefix).replace(PREFIX)
    own = _own(KEYS, "".join(f"{key}\n" for key in keys))
    try:
        os.link(own, KEYS)
    except FileExistsError:
        pass
    finally:
        own.unlink()


def _own(file: Path, text: str) -> Path:
    """Write a file of this task, which then becomes `file` atomically."""
    own = file.with_name(f".{file.stem}-{os.environ['SLURM_JOB_ID']}.txt")
    own.write_text(text)
    return own


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--prefix", required=True, help="a folder, or s3://BUCKET/PREFIX")
    parser.add_argument("--tasks", type=int, required=True, help="tasks of the whole array")
    parser.add_argument("--after", action="store_true", help="show what is left")
    parser.add_argument("--script", default="", help="the script for sbatch to run tasks again")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(_options()))
