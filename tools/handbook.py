"""Build the handbook from docs/, as a site that needs no network: `python -m tools.handbook`.

Pages are also read in the repository, so they link to files outside of docs/. Each such file
becomes a page of the site. The generator (Zensical) then fails on broken links.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from slurmpod.problems import ExitCode

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs"
SETTINGS = PAGES / "site"
BUILD = ROOT / "build" / "handbook"
SITE = BUILD / "site"

_LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)")
_README = "README.md"
_HIDDEN_FROM_SEARCH = "---\nsearch:\n  exclude: true\n---\n\n"


def build() -> int:
    """Copy the pages into an empty folder and run the generator there; return its exit code."""
    shutil.rmtree(BUILD, ignore_errors=True)
    shutil.copytree(SETTINGS, BUILD)
    shutil.copytree(PAGES, BUILD / "pages", ignore=shutil.ignore_patterns(SETTINGS.name))
    for path, text in laid_out(pages_of(PAGES)).items():
        file = BUILD / "pages" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    shutil.copy(SETTINGS / "site.css", BUILD / "pages")
    _bring_search_in_files()
    apart = str(ROOT / "scripts/run_apart.sh")
    command = [apart, "zensical", "build", "--strict"]
    return subprocess.run(command, cwd=BUILD, check=False).returncode


def _bring_search_in_files() -> None:
    """Install the script that browsers need to search in pages opened as files."""
    install = ["npm", "ci", "--silent", "--prefer-offline", "--no-audit", "--no-fund"]
    subprocess.run(install, cwd=BUILD, check=True)
    folder = BUILD / "pages" / "javascripts"
    folder.mkdir()
    shutil.copy(BUILD / "node_modules/iframe-worker/shim/index.js", folder / "iframe-worker.js")


def pages_of(folder: Path) -> Mapping[str, str]:
    """Return the text of each page below a folder, by relative path."""
    files = sorted(folder.rglob("*.md"))
    return {file.relative_to(folder).as_posix(): file.read_text("utf-8") for file in files}


def laid_out(pages: Mapping[str, str]) -> Mapping[str, str]:
    """Return the pages with links into the site, and pages for the files that they link to."""
    found = {path: _with_links_inside(path, text) for path, text in pages.items()}
    return {**found, **_pages_of_files(_files_named(pages))}


def _with_links_inside(page: str, text: str) -> str:
    return _LINK.sub(lambda link: _inside(page, link[1]), text)


def _inside(page: str, link: str) -> str:
    """Return the target of a link within the site."""
    target = _target(page, link)
    if target.parts[0] == PAGES.name:
        return link
    place = "index.md" if str(target) == _README else _place(target)
    return os.path.relpath(place, PurePosixPath(page).parent)


def _target(page: str, link: str) -> PurePosixPath:
    """Return the path in the repository that a link leads to."""
    return PurePosixPath(os.path.normpath(PurePosixPath(PAGES.name, page).parent / link))


def _place(target: PurePosixPath) -> str:
    """Return the page of a file or folder of the repository in the site."""
    return f"files/{target}/index.md" if (ROOT / target).is_dir() else f"files/{target}.md"


def _files_named(pages: Mapping[str, str]) -> Iterable[PurePosixPath]:
    """Return files and folders outside of docs/ that pages link to, and files in these folders."""
    links = (_target(page, link) for page, text in pages.items() for link in _LINK.findall(text))
    named = {each for each in links if each.parts[0] != PAGES.name and str(each) != _README}
    inside = {each / name for each in named for name in _names_in(each)}
    return sorted(named | inside)


def _names_in(folder: PurePosixPath) -> Iterable[str]:
    path = ROOT / folder
    return sorted(each.name for each in path.iterdir() if each.is_file()) if path.is_dir() else ()


def _pages_of_files(targets: Iterable[PurePosixPath]) -> Mapping[str, str]:
    return {_place(each): f"{_HIDDEN_FROM_SEARCH}# {each}\n\n{_content(each)}" for each in targets}


def _content(target: PurePosixPath) -> str:
    names = _names_in(target)
    if names:
        return "".join(f"- [{name}]({name}.md)\n" for name in names)
    language = target.suffix.removeprefix(".")
    return f"~~~~ {language}\n{(ROOT / target).read_text('utf-8')}~~~~\n"


if __name__ == "__main__":
    code = build()
    if code == ExitCode.OK:
        sys.stdout.write(f"built: {SITE.relative_to(ROOT)}/index.html\n")
    sys.exit(code)
