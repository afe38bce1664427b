from __future__ import annotations

from tests.cdk_process import start_of_the_cdk

with start_of_the_cdk():
    import slurmpod_cdk.build  # noqa: F401
