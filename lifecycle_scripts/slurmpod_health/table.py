"""What administrators see."""

from __future__ import annotations

from collections.abc import Sequence

from slurmpod_health.finding import Finding, Verdict


def table(findings: Sequence[Finding]) -> str:
    """Return one line per check: what was checked, the verdict, and the detail."""
    widest = max((len(finding.check) for finding in findings), default=0)
    lines = [
        f"{finding.check:<{widest}}  {finding.verdict.value:<8}  {finding.detail}"
        for finding in findings
    ]
    return "".join(f"{line}\n" for line in lines)


def reason(findings: Sequence[Finding]) -> str:
    """Return why the node cannot run jobs; empty for one that can."""
    return "; ".join(finding.detail for finding in findings if finding.verdict is Verdict.BAD)
