"""Chromium, for tests of pages and for screenshots."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome")


class NoBrowserError(Exception):
    """No browser is on PATH; the message names those that were looked for."""


@contextmanager
def chromium() -> Iterator[Any]:
    """Playwright's browser, without a window. Raises ``NoBrowserError`` and, without Playwright, ``ImportError``."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        raise NoBrowserError(f"none of {', '.join(_NAMES)} is on PATH")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()
