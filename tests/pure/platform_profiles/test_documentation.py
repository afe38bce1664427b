"""docs/fidelity.md lists the profiles that there are, with every value of the default one."""

from __future__ import annotations

import re
from pathlib import Path

from slurmpod.platform_profiles.loading import load
from tests.golden_files import ROOT, assert_matches
from tools.profiles_section import with_profiles

PAGE = ROOT / "docs" / "fidelity.md"


def test_the_list_of_profiles_is_fresh(update_golden: bool) -> None:
    page = with_profiles(PAGE.read_text(encoding="utf-8"))
    assert "| `shared-dev` | " in page
    assert "`slurm_conf.dev_partition.OverSubscribe`: removed |" in page
    assert_matches(PAGE, page, update=update_golden)


def test_the_file_that_the_page_shows_is_a_profile(tmp_path: Path) -> None:
    (text,) = re.findall(r"```yaml\n(about: .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    own = tmp_path / "cluster.yaml"
    own.write_text(text)
    lines = load([str(own)]).profile.slurm_conf.lines
    assert [lines[key] for key in ("ReturnToService", "MpiDefault", "GresTypes")] == [
        *("1", "pmix", "gpu")
    ]
    assert "MaxNodeCount" not in lines
