"""Which commit a run is about: that of the port, and that of the harness itself."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from conformance.files import checkout, installed, version
from conformance.port.sources import SourceError, find_sources

_IN_VERSION = re.compile(r"\+g(?P<commit>[0-9a-f]+)(?P<dirty>\.d[0-9]+)?$")
_JUDGES = ("conformance", "reference", "specs")
"""What a verdict depends on in addition to the port."""

_INHERITED = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")


def commit_of(path: Path) -> str | None:
    """The commit that the port is at, with ``-dirty`` when its files differ.

    ``None`` where the port is in no commit: outside a git checkout, and untracked or ignored inside one.
    """
    folder = path.resolve() if path.is_dir() else path.resolve().parent
    try:
        sources = [source.path for source in find_sources(path)]
    except SourceError:
        return None
    return _commit(folder, ["."], sources)


def harness_commit() -> str | None:
    """The commit of candle-parity, with ``-dirty`` when what it judges by differs: that of its checkout, or the one
    that its installed version names; ``None`` where neither is known."""
    root = checkout()
    if root is not None:
        return _commit(root, _JUDGES, [root / "conformance" / "__init__.py"])
    named = _IN_VERSION.search(version()) if installed() else None
    return None if named is None else named["commit"] + ("-dirty" if named["dirty"] else "")


def _commit(folder: Path, inside: Sequence[str], files: Iterable[Path]) -> str | None:
    """The commit of ``files`` if one of them is tracked; dirty where one is not, or anything ``inside`` differs."""
    top = next((place for place in (folder, *folder.parents) if (place / ".git").exists()), None)
    if top is None:
        return None
    try:
        # Git refuses the checkout of another user, as one mounted into a container is, for its settings can run
        # programs. The owner of these files runs programs here anyway; checkouts of other users are not trusted.
        same = len({place.stat().st_uid for place in (folder, top, top / ".git")}) == 1
        options = ["-c", "core.fsmonitor=false", *(("-c", "safe.directory=*") if same else ())]
        tracked = {folder / name for name in _git(folder, options, "ls-files", "-z", "--", *inside).split("\0")}
        if tracked.isdisjoint(files):
            return None
        changed = _git(folder, options, "status", "--porcelain", "--", *inside) or not tracked.issuperset(files)
        commit = _git(folder, options, "rev-parse", "--short=12", "HEAD")
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{commit}-dirty" if changed else commit


def _git(folder: Path, options: Sequence[str], *words: str) -> str:
    # A hook of git's names its own repository in the environment; and a question must not write the index.
    environment = {name: value for name, value in os.environ.items() if name not in _INHERITED}
    done = subprocess.run(
        ["git", "-C", str(folder), *options, *words],
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=True,
        timeout=20,
        env={**environment, "GIT_OPTIONAL_LOCKS": "0"},
    )
    return done.stdout.rstrip("\n")
