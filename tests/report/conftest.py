"""Pages in a real browser, where one is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report import browsers


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    pytest.importorskip("playwright.sync_api", reason="the Python package playwright is not installed")
    try:
        with browsers.chromium() as browser:
            yield browser
    except browsers.NoBrowserError as error:
        pytest.skip(str(error))


class Page:
    """A report in a tab of its own; what the console said and what was asked for over a network is kept."""

    def __init__(self, browser: Any, folder: Path, html: str, **settings: Any) -> None:
        self.file = folder / "report.html"
        self.file.write_text(html, encoding="utf-8")
        self.context = browser.new_context(permissions=["clipboard-read", "clipboard-write"], **settings)
        self.tab = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.tab.on("console", lambda message: self.said.append(message.text))
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.on("request", lambda request: self.asked.append(request.url))
        self.open()

    def open(self, address: str = "") -> None:
        self.tab.goto("about:blank")
        self.tab.goto(f"{self.file.as_uri()}{address}")

    def texts(self, selector: str) -> list[str]:
        return [text.strip() for text in self.tab.locator(selector).all_inner_texts()]

    @property
    def address(self) -> str:
        return str(self.tab.evaluate("location.hash"))

    def wider_than_the_window(self) -> bool:
        return bool(self.tab.evaluate("document.documentElement.scrollWidth > innerWidth"))

    def axe(self) -> list[tuple[str, str]]:
        """What axe finds: a rule and the first element that breaks it. The page needs ``bypass_csp``."""
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.tab).response["violations"]
        return [(one["id"], one["nodes"][0]["html"]) for one in found]


@pytest.fixture
def opened(chromium: Any, tmp_path: Path) -> Iterator[Any]:
    pages: list[Page] = []

    def opened(html: str, **settings: Any) -> Page:
        pages.append(Page(chromium, tmp_path, html, **settings))
        return pages[-1]

    yield opened
    for page in pages:
        assert page.said == []
        assert {url for url in page.asked if not url.startswith(("file:", "about:", "data:"))} == set()
        page.context.close()
