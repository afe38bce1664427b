"""The app of one environment without the cdk-nag review: `python -m benchmarks.without_nag FILE`.

Beside the real app it shows what the review costs, and alone how synthesis grows.
"""

import json
import os
import sys
from pathlib import Path

from slurmpod.reading.read import read
from slurmpod.resolve import resolve
from slurmpod_cdk.build import build_app

(file,) = sys.argv[1:]
resolved = resolve(read(Path(file)))
context = json.loads(os.environ.get("CDK_CONTEXT_JSON", "{}"))
build_app([resolved], context=context).synth()
