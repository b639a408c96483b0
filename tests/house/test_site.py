"""The site: every page is in its navigation, every link leads somewhere, and it is built without a network."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.house.site_pages import ROOT, named, problems


def test_pages_and_links_are_whole() -> None:
    assert problems() == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a](other.md)", "leads to a page that zensical.toml does not name"),
        ("[a](nothing.png)", "leads to no file"),
        ("![a](folder)", "leads to no file"),
        ("[a](good.txt) `[a](in-code.md)` [a](https://example.org/x)", ""),
    ],
)
def test_a_link_that_leads_nowhere_is_told(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "docs" / "folder").mkdir(parents=True)
    (tmp_path / "docs" / "page.md").write_text(text)
    (tmp_path / "other.md").write_text("")
    (tmp_path / "docs" / "other.md").write_text("")
    (tmp_path / "docs" / "good.txt").write_text("")
    found = [one for one in problems(tmp_path, ["docs/page.md"]) if one.startswith("docs/page.md")]
    assert [said in one for one in found] == [True] * bool(said)


def test_a_page_outside_of_the_navigation_is_told(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "orphan.md").write_text("# Orphan\n")
    assert problems(tmp_path, []) == ["docs/orphan.md: no line of zensical.toml leads to this page; add it to nav"]


class Addresses(HTMLParser):
    """What a page of the site links to and loads, and the names of its headings."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids.add(values.get("id") or "")
        if tag == "a":
            self.links.append(values.get("href") or "")
        elif tag in ("script", "img", "link"):
            self.loaded.append(values.get("src") or values.get("href") or "")


@pytest.mark.slow("builds the site and parses every page of it")
def test_the_built_site_is_whole_and_loads_nothing_from_elsewhere() -> None:
    pytest.importorskip("zensical")
    done = subprocess.run(
        [sys.executable, "-m", "tests.house.site_pages"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    site = ROOT / ".site" / "html"
    pages = {page: Addresses(page) for page in site.rglob("*.html") if page.name != "404.html"}
    assert len(pages) == len(list(named()))
    lost = []
    for page, found in pages.items():
        assert [one for one in found.loaded if "://" in one] == []
        for link in [*found.links, *found.loaded]:
            name, _, heading = unquote(link).partition("#")
            target = (page.parent / name).resolve() if name else page
            if "://" in link or link.startswith("mailto:"):
                continue
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (heading and target in pages and heading not in pages[target].ids):
                lost.append(f"{page.relative_to(site)}: {link}")
    assert lost == []
    assert "fill_u8" in (site / "search.json").read_text(encoding="utf-8")
