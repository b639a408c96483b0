"""A copy of the repository to which a test adds something, and its command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.files import CACHE, cache_folder
from tests.upstream.edits import added

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Tree:
    """A copy at ``path``; commands run with its packages, and with the cache of this repository."""

    path: Path

    @classmethod
    def copied(cls, path: Path) -> Tree:
        """The packages, specs and kernels of the repository, without the traces, copied to the folder ``path``."""
        for name in ("conformance", "reference", "specs", "kernels"):
            shutil.copytree(ROOT / name, path / name, ignore=shutil.ignore_patterns("__pycache__", "traces"))
        (path / "tests" / "reference").mkdir(parents=True)
        return cls(path)

    def python(self, *words: str) -> subprocess.CompletedProcess[str]:
        """What ``python WORDS`` answers in the copy."""
        environment = {**os.environ, "PYTHONPATH": str(self.path), CACHE: str(cache_folder())}
        return subprocess.run(
            [sys.executable, *words], cwd=self.path, env=environment, capture_output=True, text=True, check=False
        )

    def says(self, *words: str) -> subprocess.CompletedProcess[str]:
        """What ``python -m WORDS`` answers in the copy."""
        return self.python("-m", *words)

    def parity(self, *words: str) -> subprocess.CompletedProcess[str]:
        """What ``candle-parity WORDS`` answers in the copy."""
        return self.says("conformance.cli.main", *words)

    def run(self, *words: str) -> tuple[subprocess.CompletedProcess[str], dict[str, dict[str, Any]]]:
        """A run on the host of the kernels that ``words`` name: what it said, and their rows of the record."""
        record = self.path / "record.json"
        record.unlink(missing_ok=True)
        of = () if "--kernels" in words else ("--kernels", "kernels")  # a copy without .git is no checkout
        said = self.parity("run", "--runtime", "cpu", *of, *words, "--json", str(record))
        rows = json.loads(record.read_text())["kernels"] if record.is_file() else []
        return said, {row["name"]: row for row in rows if row["status"] != "not_run" or row["message"]}

    def insert(self, name: str, after: str, line: str) -> None:
        """Write ``line`` into a file, below the one that begins with ``after``."""
        path = self.path / name
        lines = path.read_text().splitlines()
        at = next(number for number, text in enumerate(lines) if text.startswith(after))
        path.write_text("\n".join([*lines[: at + 1], line, *lines[at + 1 :]]) + "\n")

    def replace(self, name: str, old: str, new: str) -> None:
        """Replace a text that a file has once."""
        text = (self.path / name).read_text()
        assert text.count(old) == 1
        (self.path / name).write_text(text.replace(old, new))

    def changes(self) -> dict[str, list[str]]:
        """The lines that are new or changed against the repository, by file."""
        found = {}
        for folder in ("conformance", "reference", "specs", "kernels", "tests"):
            for path in (self.path / folder).rglob("*"):
                if path.is_file() and path.suffix in (".py", ".yaml", ".h", ".hip"):
                    name = path.relative_to(self.path)
                    lines = added(ROOT / name, path) if path.read_bytes() != _bytes(ROOT / name) else []
                    found.update({name.as_posix(): lines} if lines else {})
        return found


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""
