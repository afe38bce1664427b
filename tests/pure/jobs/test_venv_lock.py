"""What `job venv` takes of a lock: pins of wheels, and sources that change no more."""

from __future__ import annotations

import pytest

from slurmpod.jobs.venv.lock import read_lock
from slurmpod.jobs.venv.wheel_tags import fits
from slurmpod.problems import InvalidEnvironment

SUM, OTHER = "1" * 64, "2" * 64
COMMIT = "208e99708d8c4deb5329bc7655a32ec9a9fd094d"
FOREIGN = "w-1-cp310-cp310-win_amd64.whl"
FITTING = "w-1-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"


def package(name: str, source: str, *, marker: str = "") -> str:
    marked = f'marker = "{marker}"\n' if marker else ""
    return f'[[packages]]\nname = "{name}"\nversion = "1"\n{marked}{source}\n'


def git(name: str, url: str, *, commit: str = COMMIT, more: str = "") -> str:
    return package(name, f'vcs = {{ type = "git", url = "{url}", commit-id = "{commit}"{more} }}')


def wheels(*names: str) -> str:
    listed = (f'{{ url = "https://h/{name}", hashes = {{ sha256 = "{SUM}" }} }}' for name in names)
    return f"wheels = [{', '.join(listed)}]"


SDIST = f'sdist = {{ url = "https://h/x-1.tar.gz", hashes = {{ sha256 = "{OTHER}" }} }}'


def lines(*packages: str) -> list[str]:
    locked = read_lock("uv.lock", "".join(packages), "3.10", "x86_64")
    return [each.line for each in locked.sources]


class TestWhatIsBuilt:
    def test_some_are_built_among_the_others(self) -> None:
        listed = package("flash-attn", SDIST) + package("alone", SDIST)
        locked = read_lock("uv.lock", listed, "3.10", "x86_64", {"flash-attn"})
        assert [each.line for each in locked.sources] == [
            f"flash-attn==1 --no-build-isolation --hash=sha256:{OTHER}\n",
            f"alone==1 --hash=sha256:{OTHER}\n",
        ]

    def test_only_what_has_no_wheel_for_the_nodes(self) -> None:
        locked = read_lock(
            "uv.lock",
            package("both", f"{SDIST}\n{wheels(FOREIGN, FITTING)}")
            + package("foreign", f"{SDIST}\n{wheels(FOREIGN)}", marker="sys_platform == 'linux'")
            + package("windows", wheels(FOREIGN), marker="sys_platform == 'win32'"),
            "3.10",
            "x86_64",
        )
        assert locked.pins == (
            f"both==1 \\\n    --hash=sha256:{SUM} \\\n    --hash=sha256:{SUM}\n"
            f"windows==1 ; sys_platform == 'win32' \\\n    --hash=sha256:{SUM}\n"
        )
        assert [each.line for each in locked.sources] == [
            f"foreign==1 ; sys_platform == 'linux' --hash=sha256:{OTHER}\n"
        ]

    def test_a_branch_is_the_commit_that_it_was(self) -> None:
        more = ', requested-revision = "main", subdirectory = "python/pkg"'
        locked = read_lock("r", git("g", "https://host/g.git", more=more), "3.10", "x86_64")
        (source,) = locked.sources
        assert source.line == f"g @ git+https://host/g.git@{COMMIT}#subdirectory=python/pkg\n"
        assert source.told == "g from git: commit 208e99708d8c of main"

    def test_an_archive_has_its_sum_and_a_folder_comes_along(self) -> None:
        archive = f'{{ url = "https://h/a.zip", hashes = {{ sha256 = "{SUM}" }} }}'
        assert lines(
            package("a", f"archive = {archive}"),
            package("f", 'directory = { path = "../f", editable = true }'),
        ) == [f"a @ https://h/a.zip --hash=sha256:{SUM}\n", "f @ ./sources/f\n"]


def test_all_that_nodes_cannot_have_is_told_at_once_and_no_secret() -> None:
    with pytest.raises(InvalidEnvironment) as caught:
        lines(
            git("a", "ssh://git@host/a.git"),
            git("b", "https://me:secret@host/b.git"),
            git("c", "file:///home/me/c"),
            git("d", "https://host/d.git", commit="main"),
            package("e", 'vcs = { type = "hg", url = "https://host/e", commit-id = "1" }'),
            package("f", 'archive = { path = "f.whl" }'),
            package("g", 'archive = { url = "https://host/g.zip?token=secret" }'),
            package("h", 'sdist = { url = "https://host/h.zip", hashes = { md5 = "1" } }'),
            git("i", "https://host/i.git", more=', subdirectory = "../i"'),
        )
    told = [each.message for each in caught.value.problems]
    assert told == [
        "a comes from git by SSH, for which nodes have no key",
        "the address of b holds a secret, which would stand in the job's folder",
        "c comes from where nodes reach nothing: 'file:///home/me/c'",
        "d comes from git without a commit",
        "e comes from hg",
        "f comes from where nodes reach nothing: 'f.whl'",
        "the address of g holds a secret, which would stand in the job's folder",
        "the archive of h has no SHA-256",
        "i is in an unusable folder: '../i'",
    ]
    assert all(each.fix for each in caught.value.problems)


@pytest.mark.parametrize(
    ("tags", "is_theirs"),
    [
        ("py3-none-any", True),
        ("py2.py3-none-any", True),
        ("py311-none-any", False),
        ("cp310-cp310-manylinux_2_28_x86_64", True),
        ("cp310-cp310-manylinux_2_34_x86_64", False),
        ("cp310-cp310-manylinux2014_aarch64", False),
        ("cp310-cp310-musllinux_1_2_x86_64", False),
        ("cp38-abi3-manylinux1_x86_64", True),
        ("cp39-cp39-linux_x86_64", False),
        ("cp310-cp310t-linux_x86_64", False),
        ("py3-none-manylinux1_x86_64.manylinux_2_5_x86_64", True),
    ],
)
def test_the_name_of_a_wheel_says_whether_nodes_can_install_it(tags: str, is_theirs: bool) -> None:
    assert fits(f"x-1-{tags}.whl", "3.10", "x86_64") is is_theirs
