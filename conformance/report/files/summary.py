"""``--summary F``: write a short report as Markdown, for the summary of a CI job."""

from __future__ import annotations

from conformance.report.short_report import render_summary as render

__all__ = ["render"]
