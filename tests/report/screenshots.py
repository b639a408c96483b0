"""The screenshots of the documentation: a report and the board, at each width that a test opens them at.

``python -m tests.report.screenshots`` writes them to docs/images. They are rendered from committed records, so that
they show what a reader gets from the same commands.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.files import ROOT
from conformance.record import read_record
from conformance.report import render_html
from conformance.report.board import render_board
from conformance.spec.load import load_specs
from tests.boards import committed
from tests.report.browsers import NoBrowserError, chromium

IMAGES = ROOT / "docs" / "images"
RECORD = ROOT / "reports" / "board" / "candle-3801.runtime-cpu-wave-64.json.xz"


@dataclass(frozen=True)
class Shot:
    """An image of a page: ``page`` is "report" or "board", ``address`` what stands behind its ``#``, and ``width`` and
    ``height`` the window in CSS pixels. ``shows`` are texts that a reader of the documentation finds in it."""

    name: str
    page: str
    address: str
    width: int
    height: int
    shows: tuple[str, ...]
    scheme: str = "light"


_HEAD = ("candle-3801", "of Candle’s CUDA kernels at parity")
_NEXT = ("What to do next", "NaN and floats beyond the integer's range are converted otherwise")
_PORTS = ("Ports, by their best run", "candle-parity", "100.0%")

SHOTS = (
    Shot("report-1440.png", "report", "", 1440, 900, (*_HEAD, *_NEXT)),
    Shot(
        "report-768.png", "report", "view=list", 768, 700, (*_HEAD, "Kernel", "Status", "cast_bf16_u8", "wrong answers")
    ),
    Shot("report-390.png", "report", "", 390, 844, _HEAD),
    Shot("report-dark.png", "report", "", 1200, 760, (*_HEAD, *_NEXT), "dark"),
    Shot("report-map.png", "report", "status=pass,fail", 1440, 900, (*_HEAD, "affine", "F", "✓")),
    Shot(
        "report-kernel.png",
        "report",
        "kernel=cast_bf16_u8",
        1200,
        760,
        ("cast_bf16_u8", "Cases by layout and values", "to do:"),
    ),
    Shot("board-1440.png", "board", "", 1440, 900, (*_PORTS, "candle-3801")),
    Shot("board-768.png", "board", "view=classes", 768, 700, ("Bug classes",)),
    Shot("board-390.png", "board", "", 390, 844, _PORTS),
)

IN_THE_WINDOW = """() => {
  const seen = (box) => box.width && box.right > 0 && box.left < innerWidth && box.bottom > 0 && box.top < innerHeight;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  const found = [];
  while (texts.nextNode()) {
    const text = texts.currentNode;
    range.selectNodeContents(text);
    if (text.parentElement.checkVisibility() && [...range.getClientRects()].some(seen)) found.push(text.data);
  }
  return found.join(" ").replace(/\\s+/g, " ");
}"""
"""The text that an image of the window has, as a function of the page's script."""


def pages() -> dict[str, str]:
    """The pages that are shown, as HTML."""
    return {"report": render_html(read_record(RECORD), load_specs()), "board": render_board(committed())}


@dataclass(frozen=True)
class Taken:
    """A written image, and the text that stands in it."""

    image: Path
    text: str


def take(browser: Any, shots: tuple[Shot, ...], html: dict[str, str], folder: Path) -> Iterator[Taken]:
    """Write each of ``shots`` to ``folder``."""
    for shot in shots:
        page = folder / f"{shot.page}.html"
        page.write_text(html[shot.page], encoding="utf-8")
        context = browser.new_context(
            viewport={"width": shot.width, "height": shot.height}, color_scheme=shot.scheme, reduced_motion="reduce"
        )
        tab = context.new_page()
        tab.goto(f"{page.as_uri()}#{shot.address}")
        tab.screenshot(path=folder / shot.name)
        text = tab.evaluate(IN_THE_WINDOW)
        context.close()
        page.unlink()
        yield Taken(folder / shot.name, text)


def main() -> None:
    try:
        with chromium() as browser:
            for taken in take(browser, SHOTS, pages(), IMAGES):
                image = taken.image
                print(f"written: {image.relative_to(ROOT)} ({image.stat().st_size / 1000:.0f} kB)")
    except NoBrowserError as error:
        sys.exit(f"screenshots need a browser: {error}")


if __name__ == "__main__":
    main()
