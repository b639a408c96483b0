"""A copy of the tree in which a test adds something, and the command line run from it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from conformance.files import cache_folder

ROOT = Path(__file__).resolve().parents[2]


class Copy:
    """The folders ``conformance``, ``reference``, ``specs`` and ``kernels`` in ``root``, without the traces."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in ("conformance", "reference", "specs", "kernels"):
            shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("traces", "__pycache__"))

    def insert(self, file: str, before: str, text: str) -> None:
        """Put ``text`` before the one place where ``before`` stands in ``file``."""
        path = self.root / file
        old = path.read_text()
        assert old.count(before) == 1, f"{before!r} is {old.count(before)} times in {file}"
        path.write_text(old.replace(before, text + before))

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """``candle-parity`` with ``words``, of the copy, with the cache of the tree that is tested."""
        environment = {**os.environ, "PYTHONPATH": str(self.root), "CANDLE_PARITY_CACHE": str(cache_folder())}
        command = [sys.executable, "-m", "conformance.cli.main", *words]
        return subprocess.run(
            command, cwd=self.root, env=environment, capture_output=True, text=True, check=False, timeout=600
        )

    def record(self, *words: str) -> dict[str, Any]:
        """The record of a run on the host, whatever its exit code."""
        done = self.run("run", "--runtime", "cpu", "--json", "record.json", *words)
        assert (self.root / "record.json").exists(), done.stderr
        content: dict[str, Any] = json.loads((self.root / "record.json").read_text())
        return content
