"""The pictures of terminals in the documentation show what a run prints, and nothing on them is wider than they are."""

from __future__ import annotations

import html
import re

import pytest
from screens import FOLDER, WIDTHS, screens


@pytest.mark.slow("judges a small port")
def test_the_pictures_show_what_a_run_prints() -> None:
    for name, svg in screens().items():
        assert (FOLDER / name).read_text(encoding="utf-8") == svg, "run python -m tests.house.screens"


@pytest.mark.parametrize("width", WIDTHS)
def test_a_picture_shows_the_headline_and_what_to_mend(width: int) -> None:
    svg = (FOLDER / f"terminal-{width}.svg").read_text(encoding="utf-8")
    text = " ".join(html.unescape(" ".join(re.findall(r">([^<]+)</text>", svg))).split())
    assert "3 of the 5 kernels you have are at parity; 743 of Candle's 748 are missing" in text.replace("\xa0", " ")
    assert "mending these 2 gains 2 kernels" in text
    assert "http" not in svg.replace("http://www.w3.org/", "").replace("https://www.textualize.io", "")
