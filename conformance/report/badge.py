"""The coverage as a badge: a small SVG."""

from __future__ import annotations

from html import escape

from conformance.record.model import BUILD
from conformance.report.about import Records, labels, listed
from conformance.report.tally import results, tally
from conformance.spec.load import Specs

_COLOURS = ((100.0, "#2da44e"), (50.0, "#bf8700"), (0.0, "#cf222e"))
_WIDTH = 7  # of a character of Verdana at 11 px, about; textLength makes it exact
_TITLE = "Candle parity"


def render_badge(records: Records, specs: Specs) -> str:
    """``Candle parity | cpu wave64 13.9%``, with a part per record; the same records give the same bytes."""
    found = [record for record in listed(records) if record.run.runtime != BUILD] or listed(records)
    tallies = [tally(results(record, specs)) for record in found]
    text = ", ".join(f"{name} {one.percent}%" for name, one in zip(labels(found), tallies, strict=True))
    least = min(100 * one.passing / one.total if one.total else 0.0 for one in tallies)
    colour = next(colour for bound, colour in _COLOURS if least >= bound)
    left, right = (len(part) * _WIDTH + 12 for part in (_TITLE, text))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
            f'aria-label="{_TITLE}: {escape(text)}">',
            f"<title>{_TITLE}: {escape(text)}</title>",
            f'<rect width="{left}" height="20" fill="#444c56"/>',
            f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/>',
            '<g fill="#fff" font-family="Verdana,sans-serif" font-size="11">',
            f'<text x="6" y="14" textLength="{left - 12}">{_TITLE}</text>',
            f'<text x="{left + 6}" y="14" textLength="{right - 12}">{escape(text)}</text>',
            "</g>",
            "</svg>",
            "",
        ]
    )
