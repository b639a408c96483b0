"""The documentation as a site: ``python -m tests.house.site_pages`` builds ``.site/html`` (``make site``).

Pages lie where GitHub shows them: README.md at the root, others in docs/, specs/, reports/ and so on. Those that the
navigation of zensical.toml names are copied to ``.site/pages`` under the same names, with the files that they link to,
so that a relative link is right on GitHub and on the site. Zensical then builds the site, offline, and fails for a link
to a page or a heading that is not there.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "zensical.toml"
SITE = ROOT / ".site"
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|<(?:img|a)\s[^>]*?(?:src|href)=\"([^\"]+)\"")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
WRITTEN_FOR_THE_SITE = ("docs/**/*.md", "examples/**/*.md", "specs/*.md", "*.md")
"""Every Markdown page of these has to be in the navigation."""


def named(nav: list[Any] | None = None) -> Iterator[str]:
    """The pages that the navigation names, as paths below the root."""
    if nav is None:
        nav = tomllib.loads(CONFIG.read_text(encoding="utf-8"))["project"]["nav"]
    for row in nav:
        for entry in row.values() if isinstance(row, dict) else [row]:
            if isinstance(entry, list):
                yield from named(entry)
            else:
                yield entry


def links(page: Path) -> Iterator[str]:
    """The relative links of a page, without their headings."""
    for match in LINK.finditer(CODE.sub("", page.read_text(encoding="utf-8"))):
        target = (match[1] or match[2]).partition("#")[0]
        if target and "://" not in target and not target.startswith("mailto:"):
            yield target


def problems(root: Path = ROOT, pages: list[str] | None = None) -> list[str]:
    """What is wrong with the pages, a sentence each; headings and links between pages are Zensical's part."""
    pages = list(named()) if pages is None else pages
    lost = [page for page in pages if not (root / page).is_file()]
    found = [f"zensical.toml: {page} is not there; mend or remove its line" for page in lost]
    found += [f"zensical.toml: {page} is named twice" for page in sorted(set(pages)) if pages.count(page) > 1]
    for pattern in WRITTEN_FOR_THE_SITE:
        for path in sorted(root.glob(pattern)):
            name = path.relative_to(root).as_posix()
            if name not in pages:
                found.append(f"{name}: no line of zensical.toml leads to this page; add it to nav")
    for page in pages:
        for target in links(root / page) if (root / page).is_file() else ():
            path = root / resolved(page, target)
            if not path.is_file():
                found.append(f"{page}: the link {target} leads to no file; link to a file, not to a folder")
            elif path.suffix == ".md" and resolved(page, target) not in pages:
                found.append(f"{page}: the link {target} leads to a page that zensical.toml does not name")
    return found


def resolved(page: str, target: str) -> str:
    """Where a link of a page leads, as a path below the root."""
    parts: list[str] = []
    for part in (PurePosixPath(page).parent / target).parts:
        if part == "..":
            parts = parts[:-1]
        else:
            parts.append(part)
    return "/".join(parts)


def stage(into: Path) -> None:
    """Copy the pages, and the files that they link to, under the same names."""
    shutil.rmtree(into, ignore_errors=True)
    pages = list(named())
    files = {resolved(page, target) for page in pages for target in links(ROOT / page)}
    for name in sorted({*pages, *files}):
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, into / name)


def main() -> int:
    if found := problems():
        print(*found, sep="\n", file=sys.stderr)
        return 1
    stage(SITE / "pages")
    # Where the file lies, Zensical makes and removes a folder .cache, which at the root is the harness's own.
    config = SITE / CONFIG.name
    config.write_text(CONFIG.read_text(encoding="utf-8").replace('_dir = ".site/', '_dir = "'), encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "--config-file", str(config)]
    if code := subprocess.run(command, cwd=SITE, check=False).returncode:
        return code
    print("written: .site/html/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
