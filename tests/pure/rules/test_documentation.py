from __future__ import annotations

from slurmpod.cli.explain import rules_page
from slurmpod.rules.areas import all_rules
from tests.golden_files import ROOT, assert_matches


def test_the_page_of_rules_is_fresh(update_golden: bool) -> None:
    assert_matches(ROOT / "docs" / "rules.md", rules_page(), update=update_golden)


def test_every_rule_is_on_the_page() -> None:
    page = rules_page()
    for rule in all_rules():
        assert page.count(f"### {rule.id}: {rule.title}\n") == 1
        assert rule.why in page
        assert rule.source in page
