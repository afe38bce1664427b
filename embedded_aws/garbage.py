"""Garbage collection in server processes; this module imports nothing heavy."""

import gc

_OBJECTS_BETWEEN_COLLECTIONS = 200_000


def collect_garbage_rarely() -> None:
    """Run the garbage collector less often; only for server processes.

    The service descriptions are a million permanent objects: scanning them again and again took a
    fifth of a server's time. Call this before slow imports.
    """
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
