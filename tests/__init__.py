"""The tests. Python's bytecode settings are set here, before pytest imports anything for them."""

from __future__ import annotations

import os
import sys

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
"""Container images often set it. Each of the many commands that tests start would then compile this
project again, which is up to a third of a command's time, and so would every process of pytest with
the tests and with Hypothesis, whose assertions pytest rewrites."""
