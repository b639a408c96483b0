"""``--html F``: write the report as HTML."""

from __future__ import annotations

from conformance.report.html import render_html as render

__all__ = ["render"]

ALSO = ("board",)
