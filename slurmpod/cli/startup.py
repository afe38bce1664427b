"""Quick start and quick end of commands: a third of what `validate` would take."""

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
    """Look for garbage after many new objects only: most of what modules make lives to the end.

    Otherwise a command that asks AWS spends a seventh of its time on it.
    """
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)


def keep_compiled() -> None:
    """Keep what Python compiles, for this command and those it starts, where it may not elsewhere.

    Images of containers often set PYTHONDONTWRITEBYTECODE, so that nothing is written beside the
    sources. Compiling them anew is two thirds of `validate`, and two fifths of a rehearsal.
    """
    if not sys.dont_write_bytecode or sys.pycache_prefix:
        return
    from slurmpod.folders import home  # only needed here

    sys.pycache_prefix = str(home() / "compiled" / "python")
    sys.dont_write_bytecode = False
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def prepare() -> None:
    """Skip what a brief command does not need; call before anything else is imported."""
    gc.disable()  # what start-up creates lives to the end, collecting it finds nothing: 6 ms
    sys.modules["pydantic.plugin._loader"] = _no_plugins()


def leave(code: int) -> NoReturn:
    """End the process without taking the interpreter down object by object.

    That takes 13 ms, and 130 ms after a command that talks to AWS. Threads that Python would wait
    for are waited for, and what was to be done at the end is done.
    """
    if "threading" in sys.modules:
        _wait_for_threads()
    atexit._run_exitfuncs()  # noqa: SLF001  # there is no other way to have them run
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
    """Return a stand-in for pydantic's search for plugins in all installed packages: 20 ms.

    Its switch PYDANTIC_DISABLE_PLUGINS saves the search, but not the import of what searches. A
    pydantic without a module of this name is merely slower; a test would tell.
    """
    loader = ModuleType("pydantic.plugin._loader")
    loader.get_plugins = tuple  # type: ignore[attr-defined]
    return loader
