"""Which commit a run is about: that of the port, and that of the harness itself."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from conformance.files import checkout, installed, version
from conformance.port.sources import SourceError, find_sources
from conformance.repository import Repository, RepositoryError, repository_of

_IN_VERSION = re.compile(r"\+g(?P<commit>[0-9a-f]+)(?P<dirty>\.d[0-9]+)?$")
_JUDGES = ("conformance", "reference", "specs")
"""What a verdict depends on in addition to the port."""

SHOWN = 12
"""Digits of a commit in a record and on the screen."""


def commit_of(path: Path) -> str | None:
    """The commit that the port at ``path`` is at: the first ``SHOWN`` digits, and ``-dirty`` if its files differ from
    it.

    ``None`` where the port is in no commit: outside of a git checkout, or untracked or ignored inside of one.
    """
    commit = whole_commit_of(path)
    return None if commit is None else _shown(*commit)


def whole_commit_of(path: Path) -> tuple[str, bool] | None:
    """The full hash of the commit that the port at ``path`` is at, and whether its files differ. ``None`` as
    ``commit_of``."""
    folder = path.resolve() if path.is_dir() else path.resolve().parent
    try:
        sources = [source.path for source in find_sources(path)]
    except SourceError:
        return None
    repository = repository_of(folder)
    if repository is None or not trusted(folder, repository):
        return None
    return _commit(repository, [os.path.relpath(folder, repository.top)], sources)


def harness_commit() -> str | None:
    """The commit of candle-parity itself, with ``-dirty`` if files differ that verdicts depend on.

    It is that of the checkout, or the one in the installed version's name; ``None`` where neither is known.
    """
    root = checkout()
    if root is not None:
        repository = Repository(root)
        ours = [root / "conformance" / "__init__.py"]
        commit = _commit(repository, _JUDGES, ours) if trusted(root, repository) else None
        return None if commit is None else _shown(*commit)
    named = _IN_VERSION.search(version()) if installed() else None
    return None if named is None else named["commit"] + ("-dirty" if named["dirty"] else "")


def _shown(commit: str, changed: bool) -> str:
    return commit[:SHOWN] + ("-dirty" if changed else "")


def trusted(folder: Path, repository: Repository) -> bool:
    """Whether a checkout says what ``folder`` holds: it and the folder belong to one user, as where it is mounted into
    a container, or the checkout to the user of this process, as git asks."""
    try:
        owners = {place.stat().st_uid for place in (repository.top, repository.top / ".git")}
        return len(owners | {folder.stat().st_uid}) == 1 or owners == {os.geteuid()}
    except OSError:
        return False


def _commit(repository: Repository, inside: Sequence[str], files: Iterable[Path]) -> tuple[str, bool] | None:
    """The commit of ``files`` if one of them is in it; changed where one is not, or anything ``inside`` differs."""
    try:
        commit = repository.commit()
        tracked = {repository.top / entry.path for entry in repository.entries(inside)}
        if tracked.isdisjoint(files):
            return None
        return commit, not tracked.issuperset(files) or repository.differs(inside)
    except RepositoryError:
        return None
