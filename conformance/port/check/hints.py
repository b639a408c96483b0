"""Lines for ``candle-parity.toml`` that map a port's names to Candle's, from names that are near to one another."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from conformance.port.declared.names import names_of
from conformance.port.sources import SourceError

_NUMBERED = re.compile(r"(.*?)([0-9]+)")


def suggested_aliases(
    pairs: Iterable[tuple[str, str]], defined: Collection[str], kernels: Collection[str]
) -> list[tuple[str, str]]:
    """Lines of ``[names]`` for ``pairs`` of Candle's name and the port's: a pattern for those that differ alike, where
    that takes no kernel's own name from it, else a line for each."""
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for candle, port in pairs:
        groups.setdefault(_general(candle, port), []).append((candle, port))
    lines: list[tuple[str, str]] = []
    for pattern, group in groups.items():
        lines += [pattern] if len(group) > 1 and _fits(pattern, group, defined, kernels) else group
    return lines


def _fits(
    pattern: tuple[str, str], group: Iterable[tuple[str, str]], defined: Collection[str], kernels: Collection[str]
) -> bool:
    try:
        names = names_of([pattern], kernels, "")
    except SourceError:
        return False
    return all(names.port(candle) == port for candle, port in group) and not (names.ports.keys() & set(defined))


def _general(candle: str, port: str) -> tuple[str, str]:
    """Both names with ``*`` for the words that they share: ``*_cuda*``, ``*_hip*`` of ``.._cuda1``, ``.._hip1``."""
    ours, theirs = candle.split("_"), port.split("_")
    before = _shared(ours, theirs)
    after = _shared(ours[before:][::-1], theirs[before:][::-1])
    words = [part[before : len(part) - after] for part in (ours, theirs)]
    number = ""
    last = [_NUMBERED.fullmatch(part[-1]) if len(part) == 1 else None for part in words]
    if not after and last[0] and last[1] and last[0][2] == last[1][2] and last[0][1] and last[1][1]:
        words, number = [[last[0][1]], [last[1][1]]], "*"
    first, second = (
        "_".join([*(["*"] if before else []), *part, *(["*"] if after else [])]) + number for part in words
    )
    return first, second


def _shared(first: list[str], second: list[str]) -> int:
    """How many words both begin with."""
    pairs = zip(first, second, strict=False)
    return next((count for count, (one, other) in enumerate(pairs) if one != other), min(len(first), len(second)))
