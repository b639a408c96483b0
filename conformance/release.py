"""The version that is built: ``VERSION``, and in a git checkout that is not at its tag the commit as well.

Hatchling executes this file alone, so that it imports nothing of ours. An archive, an sdist and a clone without tags or
history have the same version as a checkout of the tag.
"""

import subprocess
from datetime import UTC, datetime
from pathlib import Path

VERSION = "0.2.0"

_ROOT = Path(__file__).resolve().parents[1]


def built() -> str:
    """``0.1.0`` at the tag and outside a checkout, else ``0.1.0+g1a2b3c4d5``; ``.d20260102`` where files differ."""
    if not (_ROOT / ".git").exists():
        return VERSION
    try:
        commit, tags = _git("rev-parse", "--short=9", "HEAD"), _git("tag", "--points-at", "HEAD").split()
        changed = _git("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return VERSION
    if f"v{VERSION}" in tags and not changed:
        return VERSION
    return f"{VERSION}+g{commit}" + (f".d{datetime.now(UTC):%Y%m%d}" if changed else "")


def _git(*args: str) -> str:
    # `status` may run what .git/config names: this is our own checkout, whose code is being built, never a port's.
    options = ["-C", str(_ROOT), "-c", "safe.directory=*", "-c", "core.fsmonitor=false"]
    return subprocess.run(["git", *options, *args], capture_output=True, text=True, check=True).stdout.strip()
