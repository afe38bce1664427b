"""Fast start and exit of commands: a third of the time of `validate`."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from contextlib import suppress
from types import ModuleType
from typing import NoReturn

_OBJECTS_BETWEEN_COLLECTIONS = 100_000


def collect_garbage_rarely() -> None:
    """Collect garbage only after many new objects: most of what modules create lives to the end.

    Otherwise a command that queries AWS spends a seventh of its time on it.
    """
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)


def keep_compiled() -> None:
    """Cache compiled Python for this command and its children, if that is disabled elsewhere.

    Container images often set PYTHONDONTWRITEBYTECODE, so that nothing is written beside the
    sources. Compiling them each time is two thirds of `validate`, and two fifths of a rehearsal.
    """
    if not sys.dont_write_bytecode or sys.pycache_prefix:
        return
    from slurmpod.folders import home  # only needed here

    sys.pycache_prefix = str(home() / "compiled" / "python")
    sys.dont_write_bytecode = False
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def prepare() -> None:
    """Skip what a brief command does not need; call before other imports."""
    gc.disable()  # objects from start-up live to the end, so collecting finds nothing: 6 ms
    sys.modules["pydantic.plugin._loader"] = _no_plugins()


def leave(code: int) -> NoReturn:
    """End the process without finalizing the interpreter.

    That takes 13 ms, and 130 ms after a command that uses AWS. Still waits for non-daemon threads
    and runs exit handlers.
    """
    if "threading" in sys.modules:
        _wait_for_threads()
    atexit._run_exitfuncs()  # noqa: SLF001  # there is no public way to run them
    with suppress(OSError):  # what cannot be written has been reported
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def _wait_for_threads() -> None:
    import threading

    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def _no_plugins() -> ModuleType:
    """Return a stub for pydantic's plugin search in all installed packages: 20 ms.

    Its switch PYDANTIC_DISABLE_PLUGINS saves the search, but not the import for it. A
    pydantic without a module of this name is merely slower; a test would fail.
    """
    loader = ModuleType("pydantic.plugin._loader")
    loader.get_plugins = tuple  # type: ignore[attr-defined]
    return loader
