from __future__ import annotations

import sys
from pathlib import Path

from tests.cdk_process import start_of_the_cdk

sys.path.insert(0, str(Path(__file__).parents[2] / "lifecycle_scripts"))
with start_of_the_cdk():
    import slurmpod_cdk.build  # noqa: F401
