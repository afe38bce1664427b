"""Collecting garbage in processes that serve: importing this imports nothing."""

import gc

_OBJECTS_BETWEEN_COLLECTIONS = 200_000


def collect_garbage_rarely() -> None:
    """Let this process look for garbage after many new objects; for one that is a server only.

    The descriptions of services are a million objects that stay: looking through them again and
    again was a fifth of all that a server did. Call it before what takes long to import.
    """
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
