"""A folder where every access hangs, beyond all signals, as with a lost file server.

It is the mount of a FUSE server that agrees on a protocol and answers nothing after that: the
kernel waits without a limit for answers to requests that a server has taken (fs/fuse/dev.c).
"""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

INIT = 26
HEADER_IN = struct.Struct("<IIQQIIII")
HEADER_OUT = struct.Struct("<IiQ")
PROTOCOL = struct.Struct("<IIIIHHIIHHI28x")
LARGEST_REQUEST = 1 << 20


@contextmanager
def silent_folder(folder: Path) -> Iterator[None]:
    """Make `folder` silent; at the end all waiting processes continue, with an error."""
    server = subprocess.Popen(
        [sys.executable, __file__, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout
    try:
        assert server.stdout.readline() == "mounted\n"
        yield
    finally:
        server.kill()
        server.communicate()
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def serve(folder: str) -> None:
    """Mount, agree on a protocol, and read all further requests without an answer."""
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"silent", folder.encode(), b"fuse", 0, options.encode()):
        raise OSError(ctypes.get_errno(), "mount", folder)
    sys.stdout.write("mounted\n")
    sys.stdout.flush()
    while True:
        request = os.read(device, LARGEST_REQUEST)
        _, operation, number, *_ = HEADER_IN.unpack_from(request)
        if operation == INIT:
            answer = PROTOCOL.pack(7, 19, 65536, 0, 1, 1, 4096, 1, 0, 0, 0)
            os.write(device, HEADER_OUT.pack(HEADER_OUT.size + len(answer), 0, number) + answer)


if __name__ == "__main__":
    serve(sys.argv[1])
