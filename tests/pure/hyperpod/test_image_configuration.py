import pytest

from embedded_aws.cluster import FileSystemMount
from slurmpod.rehearsal.hyperpod.node_files import home_folder

LUSTRE = FileSystemMount("lustre", "fs-1@tcp:/abcdefgh", "/fsx")
OPENZFS = FileSystemMount("nfs", "fs-2:/fsx", "/home")


@pytest.mark.parametrize(
    ("mounts", "home"),
    [
        ((), "/home/ubuntu"),
        ((LUSTRE,), "/fsx/ubuntu"),
        ((OPENZFS,), "/home/ubuntu"),
        ((LUSTRE, FileSystemMount("nfs", "fs-2:/fsx", "/shared")), "/shared/ubuntu"),
    ],
)
def test_the_users_home_is_shared_if_anything_is(
    mounts: tuple[FileSystemMount, ...], home: str
) -> None:
    assert home_folder(mounts) == home
