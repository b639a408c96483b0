"""The command of a record that judges a case again, as a report shows it: one that can be copied into a shell.

A record may come from a stranger, and its commands are text.
"""

from __future__ import annotations

import re
import shlex
from functools import lru_cache

from conformance.settings import Settings

_COMMANDS = ("run", "replay", "bench")
_OPTIONS = frozenset({flag for row in Settings.rows() if row.repeated for flag in row.flags} | {"--subject"})
"""Those that ``Settings.repeated`` writes; none of them writes a file or takes away a guard."""

_COMMIT = re.compile(r"[0-9a-f]{40}")
_NAME = re.compile(r"\w[\w.-]{0,60}", re.ASCII)


@lru_cache(4096)
def again(text: str) -> str:
    """The command ``text`` with every word quoted for a shell, if it is one that the harness writes; else ""."""
    try:
        args = shlex.split(text)
    except ValueError:
        return ""
    if args[:1] != ["candle-parity"] or args[1:2] == [] or args[1] not in _COMMANDS or not text.isprintable():
        return ""
    options = [arg.partition("=")[0] for arg in args[2:] if arg.startswith("-")]
    return shlex.join(args) if _OPTIONS.issuperset(options) else ""


def fetched(name: str, repository: str, commit: str) -> str:
    """The commands that fetch a port of a list into the folder ``name``; "" for values that no list may have
    (``is_listed``)."""
    if not is_listed(name, repository, commit):
        return ""
    clone, checkout = ["git", "clone", repository, name], ["git", "-C", name, "checkout", commit]
    return f"{shlex.join(clone)} && {shlex.join(checkout)}"


def is_listed(name: str, repository: str, commit: str) -> bool:
    """Whether a list of ports may have these values: ``name`` is the name of a folder, ``repository`` an https address,
    ``commit`` a whole hash."""
    return (
        _NAME.fullmatch(name) is not None
        and re.fullmatch(r"https://[^\s\x00-\x1f\x7f'\"\\]+", repository) is not None
        and _COMMIT.fullmatch(commit) is not None
    )
