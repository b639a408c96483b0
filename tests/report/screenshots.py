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
    ``height`` the window in CSS pixels."""

    name: str
    page: str
    address: str
    width: int
    height: int
    scheme: str = "light"


SHOTS = (
    Shot("report-1440.png", "report", "", 1440, 900),
    Shot("report-768.png", "report", "view=list", 768, 700),
    Shot("report-390.png", "report", "", 390, 844),
    Shot("report-dark.png", "report", "", 1200, 760, "dark"),
    Shot("report-map.png", "report", "status=pass,fail", 1440, 900),
    Shot("report-kernel.png", "report", "kernel=cast_bf16_u8", 1200, 760),
    Shot("board-1440.png", "board", "", 1440, 900),
    Shot("board-768.png", "board", "view=classes", 768, 700),
    Shot("board-390.png", "board", "", 390, 844),
)


def pages() -> dict[str, str]:
    """The pages that are shown, as HTML."""
    return {"report": render_html(read_record(RECORD), load_specs()), "board": render_board(committed())}


def take(browser: Any, shots: tuple[Shot, ...], html: dict[str, str], folder: Path) -> Iterator[Path]:
    """Write each of ``shots`` to ``folder`` and yield its path."""
    for shot in shots:
        page = folder / f"{shot.page}.html"
        page.write_text(html[shot.page], encoding="utf-8")
        context = browser.new_context(
            viewport={"width": shot.width, "height": shot.height}, color_scheme=shot.scheme, reduced_motion="reduce"
        )
        tab = context.new_page()
        tab.goto(f"{page.as_uri()}#{shot.address}")
        tab.screenshot(path=folder / shot.name)
        context.close()
        page.unlink()
        yield folder / shot.name


def main() -> None:
    try:
        with chromium() as browser:
            for image in take(browser, SHOTS, pages(), IMAGES):
                print(f"written: {image.relative_to(ROOT)} ({image.stat().st_size / 1000:.0f} kB)")
    except NoBrowserError as error:
        sys.exit(f"screenshots need a browser: {error}")


if __name__ == "__main__":
    main()
