"""An environment that only the wheel is installed into."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Installation:
    """An environment with nothing but the wheel (and a path to what it depends on), and an empty home."""

    environment: Path
    home: Path

    @property
    def packages(self) -> Path:
        (found,) = self.environment.glob("lib/python3*/site-packages")
        return found

    @property
    def cache(self) -> Path:
        return self.home / ".cache" / "candle-parity"

    def says(self, folder: Path, *words: object, **variables: str) -> subprocess.CompletedProcess[str]:
        """What a program of the environment answers in ``folder``; it has no variable that could lead it here."""
        kept = {name: os.environ[name] for name in ("CANDLE_PARITY_CXX", "LANG") if name in os.environ}
        path = f"{self.environment / 'bin'}:{os.environ['PATH']}"
        return subprocess.run(
            [*map(str, words)],
            cwd=folder,
            env={**kept, "HOME": str(self.home), "PATH": path, **variables},
            capture_output=True,
            text=True,
            check=False,
        )

    def files(self) -> dict[Path, int]:
        """What is installed, with the time of its last change; without what Python and pytest compile of it."""
        found = (path for path in self.packages.rglob("*") if path.is_file() and path.suffix != ".pyc")
        return {path: path.stat().st_mtime_ns for path in found}
