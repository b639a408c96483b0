"""The screenshots of the documentation.

Of the committed images only the size is tested: what a browser draws differs from machine to machine. What stands in
an image is tested where the script makes it anew, by the texts in the window.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from tests.report.screenshots import IMAGES, SHOTS, Shot, pages, take

LARGEST = 200_000
"""Bytes of an image."""


def size_of(image: Path) -> tuple[int, int]:
    """The width and height in a PNG's header."""
    content = image.read_bytes()[:24]
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", content[16:24])


@pytest.mark.parametrize("shot", SHOTS, ids=lambda shot: shot.name)
def test_a_screenshot_is_committed_and_small(shot: Shot) -> None:
    image = IMAGES / shot.name
    assert image.is_file(), f"run `python -m tests.report.screenshots` and commit docs/images/{shot.name}"
    assert size_of(image) == (shot.width, shot.height)
    assert image.stat().st_size < LARGEST


@pytest.mark.nightly("draws the boards of eight ports and takes every screenshot")
def test_the_script_writes_every_screenshot(chromium: Any, tmp_path: Path) -> None:
    made = list(take(chromium, SHOTS, pages(), tmp_path))
    assert [taken.image.name for taken in made] == [shot.name for shot in SHOTS]
    assert [size_of(taken.image) for taken in made] == [(shot.width, shot.height) for shot in SHOTS]
    lacking = {
        shot.name: [text for text in shot.shows if text not in taken.text]
        for shot, taken in zip(SHOTS, made, strict=True)
    }
    assert lacking == {shot.name: [] for shot in SHOTS}
