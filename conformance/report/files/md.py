"""``--md F``: write the report as Markdown."""

from __future__ import annotations

from conformance.report.markdown import render_markdown as render

__all__ = ["render"]

ALSO = ("board",)
