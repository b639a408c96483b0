"""The names and upstream lines of kernels that are to be added, as the command line gives them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from conformance.dtypes import SPELLINGS
from conformance.spec import SelectionError

_BRACES = re.compile(r"\{([^{}]*)\}")
_C_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_LINE = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
MOST_NAMES = 100


def expanded(patterns: Iterable[str], spelling: Mapping[str, str]) -> list[str]:
    """The names that ``patterns`` stand for, each once: ``usquare_{f32,f16}`` is two.

    A value in braces that ``spelling`` has (the dtype of a stanza, say) becomes its spelling in kernel names. Raises
    ``SelectionError`` for what is not a C name then.
    """
    names: list[str] = []
    for pattern in patterns:
        for name in _product(pattern, spelling):
            if not _C_NAME.fullmatch(name):
                raise SelectionError(
                    f"{name!r} is not a C name; use letters, digits, underscores and {{f32,f16}} lists"
                )
            if len(names) > MOST_NAMES:
                raise SelectionError(f"{pattern!r} stands for more than {MOST_NAMES} names; give fewer at a time")
            names.append(name)
    return list(dict.fromkeys(names))


def _product(pattern: str, spelling: Mapping[str, str]) -> Iterator[str]:
    match = _BRACES.search(pattern)
    if match is None:
        yield pattern
        return
    for value in match[1].split(","):
        spelled = spelling.get(value.strip(), value.strip())
        yield from _product(pattern[: match.start()] + spelled + pattern[match.end() :], spelling)


def split_dtype(name: str) -> tuple[str, str]:
    """The name without its last dtype, and how that is spelled (empty where it ends in none)."""
    for spelled in SPELLINGS:
        if name.endswith(f"_{spelled}"):
            return name.removesuffix(f"_{spelled}"), spelled
    return name, ""


def lines_of(names: Sequence[str], text: str) -> dict[str, int]:
    """The upstream line of each name: ``text`` is one number for all, or ``f32:12,f16:40`` by dtype or name.

    Raises ``SelectionError`` where a name has no line, and for a key that no name has.
    """
    if _LINE.fullmatch(text):
        return dict.fromkeys(names, int(text))
    given: dict[str, int] = {}
    for part in text.split(","):
        key, _, line = (word.strip() for word in part.partition(":"))
        if not key or not _LINE.fullmatch(line):
            raise SelectionError(f"--line {text}: {part!r} is not DTYPE:N; give a line from 1 on, or f32:12,f16:40")
        given[key] = int(line)
    keys = {name: _key(name, given) for name in names}
    missing = [name for name, key in keys.items() if key is None]
    if missing:
        raise SelectionError(f"--line {text}: no line for {', '.join(missing)}; give one for each dtype")
    unused = given.keys() - set(keys.values())
    if unused:
        raise SelectionError(f"--line {text}: no new kernel is of {', '.join(sorted(unused))}; leave it out")
    return {name: given[key] for name, key in keys.items() if key is not None}


def _key(name: str, given: Mapping[str, int]) -> str | None:
    _, spelled = split_dtype(name)
    return next((key for key in (name, spelled, SPELLINGS.get(spelled, "")) if key in given), None)
