"""``--junit F``: write JUnit XML with a test case for each kernel."""

from __future__ import annotations

from conformance.report.ci import render_junit as render

__all__ = ["render"]
