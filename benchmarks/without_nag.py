"""The app of one environment without the cdk-nag review: `python -m benchmarks.without_nag FILE`.

Compared with the real app it shows the cost of the review; alone it shows how synthesis grows.
"""

import json
import sys
from pathlib import Path

from slurmpod.folders import app_folder
from slurmpod.reading.read import read
from slurmpod.resolve import resolve
from slurmpod_cdk.build import build_app

(file,) = sys.argv[1:]
resolved = resolve(read(Path(file)))
context = json.loads((app_folder() / "cdk.json").read_text())["context"]
build_app([resolved], context=context).synth()
