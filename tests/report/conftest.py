"""Pages in a real browser, where one is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report import browsers


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    pytest.importorskip("playwright.sync_api", reason="the Python package playwright is not installed")
    try:
        with browsers.chromium() as browser:
            yield browser
    except browsers.NoBrowserError as error:
        pytest.skip(str(error))


class Page:
    """A tab that shows a report; what the console said and what was asked for over a network is kept."""

    def __init__(self, browser: Any, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.file = Path()
        self.written: dict[str, Path] = {}
        self.window = settings.get("viewport", {"width": 1280, "height": 720})
        self.context = browser.new_context(permissions=["clipboard-read", "clipboard-write"], **settings)
        self.tab = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.tab.on("console", lambda message: self.said.append(message.text))
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.on("request", lambda request: self.asked.append(request.url))

    def show(self, html: str) -> None:
        """Load the report ``html``, with nothing left of what was done with the tab before."""
        self.said.clear()
        self.asked.clear()
        self.tab.emulate_media(media="screen")
        self.tab.set_viewport_size(self.window)
        self.file = self.written.setdefault(html, self.folder / f"report{len(self.written)}.html")
        self.file.write_text(html, encoding="utf-8")
        self.reload()

    def open(self, address: str = "") -> None:
        """Go to ``address``, which begins with "#", as a link within the page does."""
        self.tab.goto(f"{self.file.as_uri()}{address or '#'}")

    def reload(self, address: str = "") -> None:
        """Load the page anew, at ``address``."""
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


@pytest.fixture(scope="module")
def tabs(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A function that opens a report, in one tab for each of the browser's settings: to make a tab costs more than
    most tests do."""
    tabs: dict[str, Page] = {}

    def tab(html: str, **settings: Any) -> Page:
        key = repr(settings)
        if key not in tabs:
            tabs[key] = Page(chromium, tmp_path_factory.mktemp("tab"), **settings)
        tabs[key].show(html)
        return tabs[key]

    yield tab
    for page in tabs.values():
        page.context.close()


@pytest.fixture
def opened(tabs: Any) -> Iterator[Any]:
    """A function that opens a report, given as HTML; the test fails if the report's script complains, or if it asks
    for anything over a network."""
    pages: list[Page] = []

    def opened(html: str, **settings: Any) -> Page:
        pages.append(tabs(html, **settings))
        return pages[-1]

    yield opened
    for page in pages:
        assert page.said == []
        assert {url for url in page.asked if not url.startswith(("file:", "about:", "data:"))} == set()
